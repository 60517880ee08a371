"""Rewind on this machine: installing, finding and removing it."""
