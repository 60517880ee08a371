"""Every reason why Rewind might not protect a project."""
