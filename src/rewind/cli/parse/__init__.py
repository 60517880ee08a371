"""The command line: commands, options, help, and what is wrong with them."""
