"""A snapshot as one self-contained file."""
