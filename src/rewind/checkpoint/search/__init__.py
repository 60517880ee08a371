"""Searches checkpoints: by text and by path."""
