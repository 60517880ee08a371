"""Commands under "Maintain" in `rewind help`."""
