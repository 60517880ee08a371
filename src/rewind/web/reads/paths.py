"""Paths that the page names, as they are on the disk: relative, inside the project, and known to the plan."""

from __future__ import annotations

from collections.abc import Iterable

from rewind.errors import BadRequest
from rewind.web.reads.shapes import path_text

_MOST = 5000


def named_paths(texts: list[str], known: Iterable[bytes]) -> list[bytes] | None:
    """None when all are meant. `known` are paths that the page was shown, some with escapes in them."""
    if not texts:
        return None
    if len(texts) > _MOST:
        raise BadRequest(f"At most {_MOST} paths can be named at once.")
    shown = {path_text(path): path for path in known} if any("\\" in text for text in texts) else {}
    return [shown.get(text) or checked(text) for text in texts]


def checked(text: str) -> bytes:
    parts = text.split("/")
    if len(text) > 4096 or "\0" in text or any(part in ("", ".", "..") for part in parts):
        raise BadRequest("That is not a path inside the project.")
    return text.encode("utf-8", "surrogatepass")
