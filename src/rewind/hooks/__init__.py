"""What the agents call while they work: from standard input to exit status."""

# What the hook and the script that agents call (`install/machine/scripts.py`) have agreed on.
BLOCK = 93  # the exit status that the script turns into 2; Python itself exits with 2 for other reasons
TELL = 3  # the descriptor of the agent's standard error; the script discards what the hook writes to 2
SCRIPT = "REWIND_SHIM"  # the variable with the process id of the script, which ends at once on SIGUSR1
