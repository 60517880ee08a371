"""Checkpoints and conversations in a git repository: push, pull and clone. See `docs/remote.md`."""
