"""What differs between two versions, line by line."""
