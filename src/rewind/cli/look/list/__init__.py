"""`rewind list`: by turns, by checkpoints, as JSON."""
