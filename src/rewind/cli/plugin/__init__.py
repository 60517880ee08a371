"""The answers that the Claude Code plugin shows: what to go back to, what that would do, what was done."""
