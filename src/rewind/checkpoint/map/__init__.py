"""What happened in a project, by turns: the rows that every interface shows."""
