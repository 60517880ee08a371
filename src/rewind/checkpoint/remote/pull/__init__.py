"""Fetches what others have pushed, and adds it to the project."""
