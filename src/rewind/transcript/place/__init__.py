"""Places in a transcript, and where it is cut."""
