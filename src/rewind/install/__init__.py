"""Getting Rewind onto a machine and off it again: the hooks in the agents' settings first of all."""
