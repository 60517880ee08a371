"""A project and its state directory: opened, made, found again, moved."""
