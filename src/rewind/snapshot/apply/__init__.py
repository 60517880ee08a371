"""From a plan to the directory tree."""
