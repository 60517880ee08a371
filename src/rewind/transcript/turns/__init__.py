"""Turns of a transcript, one by one: where they are, what was said, which tools ran."""
