"""Git commits made from turns."""
