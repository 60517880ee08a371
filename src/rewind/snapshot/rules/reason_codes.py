"""Why something that was present is not in a snapshot: the words that are stored in trees."""

from __future__ import annotations


class Reasons:
    SKIP_LIST = b"skip-list"
    IGNORED = b"ignored"
    IGNORED_LARGE = b"ignored-large"
    TOO_LARGE = b"too-large"
    UNREADABLE = b"unreadable"
    PINS_ONLY = b"pins-only"
    SPECIAL = b"special"
    TOO_DEEP = b"too-deep"
    CHANGED = b"changed"  # since the scan of a hook whose checkpoint is late
    SECRET = b"secret"  # left out of what was shared, as are the next two
    LINK_OUT = b"link-out"
    NOT_SHARED = b"not-shared"  # a name that differs from another only by case
