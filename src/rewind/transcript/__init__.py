"""An agent's conversation: read it, remember places in it, make new sessions from parts of it."""
