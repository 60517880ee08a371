"""Installing Rewind on a machine and removing it, above all the hooks in the agents' settings."""
