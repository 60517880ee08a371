"""Commands under "Look" in `rewind help`."""
