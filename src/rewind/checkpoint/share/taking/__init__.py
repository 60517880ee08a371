"""What comes from another machine; nothing in it is trusted."""
