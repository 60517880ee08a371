"""Paths that the page names, as they are on the disk: relative, inside the project, and known to the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rewind.controller import Controller, Difference
from rewind.errors import BadRequest
from rewind.web.reads.shapes import path_text

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.target import Target

_MOST = 5000


def named_paths(texts: list[str], known: Iterable[bytes]) -> list[bytes] | None:
    """None when all are meant. `known` are paths that the page was shown, some with escapes in them."""
    if not texts:
        return None
    if len(texts) > _MOST:
        raise BadRequest(f"At most {_MOST} paths can be named at once.")
    shown = {path_text(path): path for path in known} if any("\\" in text for text in texts) else {}
    return [shown.get(text) or checked(text) for text in texts]


def named_path(text: str, known: Callable[[], Iterable[bytes]]) -> bytes:
    """One of them; `known` is asked only where there may be escapes in it."""
    path = checked(text)
    return {path_text(one): one for one in known()}.get(text, path) if "\\" in text else path


def paths_in(difference: AbstractContextManager[Difference]) -> list[bytes]:
    with difference as found:
        return [path for path, _, _ in found.changes]


def planned_paths(controller: Controller, target: Target) -> list[bytes]:
    code = controller.plan(target, "code").code
    return [change.path for change in code.changes] if code else []


def checked(text: str) -> bytes:
    parts = text.split("/")
    if len(text) > 4096 or "\0" in text or any(part in ("", ".", "..") for part in parts):
        raise BadRequest("That is not a path inside the project.")
    return text.encode("utf-8", "surrogatepass")
