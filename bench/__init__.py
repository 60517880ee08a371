"""Measures Rewind against what a user would otherwise have; `scripts/bench` starts it."""
