"""What a checkpoint is: its record, its place in order, its content."""
