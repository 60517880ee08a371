"""What the page changes: planned, confirmed, one at a time."""
