"""The prefix of a fork's title in the agent's own list. Rewind shows titles without it."""

from __future__ import annotations

FORK_PREFIX = "[Fork] "


def plain_title(title: str) -> str:
    while title.startswith(FORK_PREFIX):
        title = title[len(FORK_PREFIX):]
    return title
