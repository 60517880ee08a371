"""What the page changes: each change is planned, confirmed and then made."""
