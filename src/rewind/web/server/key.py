"""The page's key and port, kept for the next start, so that an open page keeps working."""

from __future__ import annotations

import os
import re
import secrets
import stat

from rewind import jsonfile

FILE = "ui.json"
_KEY = re.compile(r"[\w-]{43}")


def new_key() -> str:
    return secrets.token_urlsafe(32)


def remembered(path: str) -> tuple[str, int]:
    """(key, port), or a new key and 0 if there is no key or others could have read it."""
    try:
        info = os.lstat(path)
        private = stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077 and info.st_uid == os.getuid()
    except OSError:
        private = False
    data = jsonfile.read_or_empty(path, 4096) if private else {}
    key, port = data.get("key"), data.get("port")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        return new_key(), 0
    return key, port if isinstance(port, int) and 0 < port < 65536 else 0


def remember(path: str, key: str, port: int) -> None:
    """Keep them. If that fails, the next start makes a new key."""
    try:
        jsonfile.write(path, {"key": key, "port": port})
    except OSError:
        pass
