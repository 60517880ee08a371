"""What the agents call while they work: stdin to exit code."""

# What the hook and the script that agents call (`install/machine/scripts.py`) have agreed on.
BLOCK = 93  # the exit status that becomes 2; Python itself exits with 2 for reasons of its own
TELL = 3  # the descriptor that leads past the silence that the script keeps on standard error
SCRIPT = "REWIND_SHIM"  # the variable with the script's process id; with SIGUSR1 it leaves without the hook
