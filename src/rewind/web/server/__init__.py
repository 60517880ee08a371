"""The server: who may talk to it, what it pushes, where work is done."""
