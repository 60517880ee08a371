"""What the page reads with GET requests."""
