"""A session's id is the stem of its file's name, whatever the lines in it say: agents hold it so, too."""

from __future__ import annotations

import os

SUFFIX = ".jsonl"


def stem(path: str) -> str:
    return path[: -len(SUFFIX)] if path.endswith(SUFFIX) else path


def session_id_of(path: str) -> str:
    return os.path.basename(stem(path))


def is_session_id(text: str) -> bool:
    """Safe to be made part of a path, and nothing that leads elsewhere."""
    return (bool(text) and len(text) <= 200 and not text.startswith(".") and text.isascii()
            and text.replace("-", "").replace("_", "").replace(".", "").isalnum())
