"""Which futures there are, their directories, and how far each has come."""
