"""Bytes in, bytes out. Knows nothing of agents, projects or checkpoints."""
