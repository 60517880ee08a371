"""What changed since the last scan, according to Watchman, instead of a walk of the whole tree."""
