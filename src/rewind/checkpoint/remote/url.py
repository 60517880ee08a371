"""Checks the address of a remote, and shows it without the password."""

from __future__ import annotations

import os

from rewind.errors import RemoteUrlRefused

SCHEMES = ("file", "git", "http", "https", "ssh")
_IN_A_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_LONGEST_NAME = 64
_HELPER = r"[A-Za-z0-9+.-]*::"  # git would run a helper program for it, or with `ext::` any command
_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]*)://"
_SCP = r"[^/]+:"  # host:path
_LOGIN = r"(?<=://)[^/@\s]*(?=@)"
_LONGEST = 2000


def is_remote_name(name: str) -> bool:
    return (0 < len(name) <= _LONGEST_NAME and _IN_A_NAME.issuperset(name) and name[0] not in "_.-"
            and ".." not in name and not name.endswith((".", ".lock")))


def checked_url(url: str) -> str:
    """The address as git gets it. A path is made absolute, because git runs in another directory."""
    import re

    if not url or len(url) > _LONGEST or not url.isprintable():
        raise RemoteUrlRefused(url=url[:80], reason="it is empty, too long or not printable")
    if url.startswith("-"):
        raise RemoteUrlRefused(url=url, reason="it begins with a dash")
    if re.match(_HELPER, url):
        raise RemoteUrlRefused(url=shown_url(url), reason="it names a helper program of git")
    scheme = re.match(_SCHEME, url)
    if scheme is None:
        return url if re.match(_SCP, url) else os.path.abspath(os.path.expanduser(url))
    if scheme[1].lower() not in SCHEMES:
        raise RemoteUrlRefused(url=shown_url(url), reason=f"{scheme[1]} is not a protocol that git knows")
    return url


def shown_url(url: str) -> str:
    """Without the login before the `@`, except a user name."""
    login = _login(url)
    if login is None:
        return url
    user, colon, _ = login.partition(":")
    # A name without a password is often a token; with ssh it is always a user.
    kept = user if url.startswith("ssh:") or (colon and user) else ""
    return url.replace(f"://{login}@", f"://{f'{kept}:***' if colon else kept or '***'}@", 1)


def _login(url: str) -> str | None:
    """The part between `://` and `@`."""
    if "@" not in url:
        return None
    import re

    found = re.search(_LOGIN, url)
    return found[0] if found else None


def without_login(text: str, url: str) -> str:
    """A message of git without the secrets of the address."""
    login = _login(url)
    if login is None:
        return text
    text = text.replace(url, shown_url(url))
    secrets = [login, login.partition(":")[2]] if ":" in login else [login]
    for secret in secrets:
        if secret and not url.startswith("ssh:"):
            text = text.replace(secret, "***")
    return text
