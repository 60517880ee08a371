"""The terminal UI: the map of a project on the left, what happened on the right, and the way back."""
