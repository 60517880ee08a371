"""Finding damage, and mending what has another copy."""
