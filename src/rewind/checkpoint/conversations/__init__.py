"""Conversations of a project: which one is meant, their forks, and bringing one back."""
