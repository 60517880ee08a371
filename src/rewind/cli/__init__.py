"""The shell command. One file per command; each shows a plan and calls the controller."""
