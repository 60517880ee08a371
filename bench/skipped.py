"""The way in which a row says that it cannot be measured here."""


class Skipped(Exception):
    """Something that the row needs is not to be had here; the text says what."""
