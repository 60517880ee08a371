"""Several futures of one turn: directories of their own, with the code and the conversation of that turn."""
