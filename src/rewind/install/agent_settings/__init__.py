"""Rewind's hooks in the settings of agents."""
