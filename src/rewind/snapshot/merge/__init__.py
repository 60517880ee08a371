"""Two changes of the same files brought together."""
