"""Commands under "Go back" and "Single turns" in `rewind help`."""
