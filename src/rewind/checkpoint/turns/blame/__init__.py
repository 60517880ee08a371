"""Which turn wrote each line of a file."""
