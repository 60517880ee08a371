"""What a turn changed, and whose change it is."""
