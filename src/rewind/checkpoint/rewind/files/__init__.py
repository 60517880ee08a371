"""The code's part of going back: what is written, deleted, kept and left alone."""
