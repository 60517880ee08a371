"""Questions and messages in a box."""
