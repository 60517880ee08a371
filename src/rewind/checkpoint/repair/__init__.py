"""Finds damage, and repairs what has another copy."""
