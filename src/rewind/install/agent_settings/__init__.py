"""Rewind's hooks in the settings of the agents."""
