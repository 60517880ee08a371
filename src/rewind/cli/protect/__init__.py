"""Commands under "Protect" in `rewind help`."""
