"""What hooks remember from one event to the next."""
