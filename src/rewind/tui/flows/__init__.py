"""What changes something: choose, see the plan, confirm, see the outcome."""
