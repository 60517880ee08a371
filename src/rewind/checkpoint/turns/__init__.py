"""Turns as pieces of history: what each one did to the code."""
