"""A snapshot as trees: reading, listing and comparing them."""
