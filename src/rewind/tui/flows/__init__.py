"""What changes something: choose, see the plan, confirm, be told."""
