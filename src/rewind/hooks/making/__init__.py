"""Making the checkpoint of an event, in time."""
