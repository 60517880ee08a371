"""Fetching what others have sent, and taking it over."""
