"""Writing checkpoints and conversations into our repository, and sending them."""
