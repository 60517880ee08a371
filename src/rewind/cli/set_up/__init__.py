"""Commands under "Set up" in `rewind help`."""
