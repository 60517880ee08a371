"""The futures of a project: their directories, and how far each has come."""
