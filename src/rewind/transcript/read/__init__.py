"""A transcript as lines, entries, prompts, and the chain that the agent continues from."""
