"""Making the checkpoint of an event before its agent has waited too long."""
