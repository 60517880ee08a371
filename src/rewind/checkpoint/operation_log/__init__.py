"""The log of operations, and where the project stands by it."""
