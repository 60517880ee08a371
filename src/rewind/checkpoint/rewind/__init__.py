"""Going back: what to go to, what that would do, doing it, and the log that lets every step be undone."""
