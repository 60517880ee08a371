"""The server: who may use it, what it pushes, and where the work is done."""
