"""Turns as pieces of history: what each one did to the code, for whoever takes one back, blames or commits it."""
