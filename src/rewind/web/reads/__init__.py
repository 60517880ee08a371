"""What the page asks for by GET."""
