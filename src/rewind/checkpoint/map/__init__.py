"""What happened in a project, turn by turn: the rows that every interface shows."""
