"""What changed since the last scan, as Watchman tells it, in place of a walk of the whole tree."""
