"""Which turn broke a command."""
