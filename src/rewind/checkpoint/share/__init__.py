"""What leaves this machine, and what comes from another one."""
