"""Searching checkpoints: by text and by path."""
