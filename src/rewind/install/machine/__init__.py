"""Rewind on this machine: put there, found, taken away."""
