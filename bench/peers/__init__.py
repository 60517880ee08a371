"""What a user would otherwise have: one file per tool, collected in `registry.py`."""
