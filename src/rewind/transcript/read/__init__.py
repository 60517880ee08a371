"""A transcript as lines, entries, prompts, and the chain that the agent goes on from."""
