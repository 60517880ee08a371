"""Paths that the page names, as bytes: relative, inside the project, and without the escapes of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rewind.controller import Controller, Difference
from rewind.errors import BadRequest
from rewind.web.reads.shapes import path_text

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.target import Target

Known = Callable[[], Iterable[bytes]]  # the paths that the page was shown; called if a text may have escapes
_MOST = 5000


def named_paths(texts: list[str], known: Known = lambda: ()) -> list[bytes] | None:
    """None if the page names no path, which means all of them."""
    return _paths(texts, known) if texts else None


def named_path(text: str, known: Known) -> bytes:
    return _paths([text], known)[0]


def _paths(texts: list[str], known: Known) -> list[bytes]:
    if len(texts) > _MOST:
        raise BadRequest(f"At most {_MOST} paths can be named at once.")
    checked = [_checked(text) for text in texts]
    shown = {path_text(path): path for path in known()} if any("\\" in text for text in texts) else {}
    return [shown.get(text) or path for text, path in zip(texts, checked)]


def paths_in(difference: AbstractContextManager[Difference]) -> list[bytes]:
    with difference as found:
        return [path for path, _, _ in found.changes]


def planned_paths(controller: Controller, target: Target) -> list[bytes]:
    code = controller.plan(target, "code").code
    return [change.path for change in code.changes] if code else []


def _checked(text: str) -> bytes:
    parts = text.split("/")
    if len(text) > 4096 or "\0" in text or any(part in ("", ".", "..") for part in parts):
        raise BadRequest("That is not a path inside the project.")
    return text.encode("utf-8", "surrogatepass")
