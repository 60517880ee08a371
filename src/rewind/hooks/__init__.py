"""What the agents call while they work: stdin to exit code."""
