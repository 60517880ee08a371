"""Futures of one turn: each is a directory of its own with the code and the conversation of that turn."""
