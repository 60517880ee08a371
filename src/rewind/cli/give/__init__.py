"""Commands under "Give to others" in `rewind help`."""
