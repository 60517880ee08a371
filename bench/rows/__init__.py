"""What is measured: one file per family of rows, collected in `registry.py`."""
