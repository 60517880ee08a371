"""Which futures there are: their directories, how far each has come, and how they are shown."""
