"""From the directory tree to a snapshot."""
