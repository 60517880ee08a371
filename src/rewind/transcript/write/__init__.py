"""New sessions from parts of others, and the same session rewritten."""
