"""Writes checkpoints and conversations into our repository, and sends them."""
