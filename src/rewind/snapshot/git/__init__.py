"""The user's git repository: asked, never written."""
