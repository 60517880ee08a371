"""The current code with one more change merged into it."""
