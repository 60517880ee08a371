"""What comes from another machine. Nothing in it is trusted."""
