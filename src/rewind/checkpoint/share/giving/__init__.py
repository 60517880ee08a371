"""What leaves this machine."""
