"""Reads shell commands without running them, for the guard."""
