"""The command line: options, help, and what to say of a wrong one."""
