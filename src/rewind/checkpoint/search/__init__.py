"""Searching checkpoints: by text, by prompt, by path."""
