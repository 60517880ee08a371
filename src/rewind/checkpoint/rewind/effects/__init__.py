"""What an operation does besides the code, as data that the log keeps: one file for each kind of effect."""
