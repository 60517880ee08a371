"""The exception of a row that cannot be measured here."""


class Skipped(Exception):
    """Something that the row needs is missing here. The text says what."""
