"""What is protected and what is not."""
