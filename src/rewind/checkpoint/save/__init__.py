"""Making a checkpoint: the code, the conversation, files outside the project."""
