"""From what a person types to a checkpoint or a turn."""
