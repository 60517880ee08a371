"""Going back: what to go to, what that would do, and doing it."""
