"""The conversation's part of going back."""
