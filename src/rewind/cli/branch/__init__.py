"""Commands for forks of the conversation, and for commits made from turns."""
