"""The terminal UI: the story of a project on the left, what happened on the right, and the way back."""
