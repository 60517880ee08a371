"""Checkpoints: records, their making, the way back, the history of it, and what is kept."""
