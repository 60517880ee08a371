"""What may be the address of a remote, and how it is shown: never with the password in it."""

from __future__ import annotations

import os
import re

from rewind.errors import RemoteUrlRefused

SCHEMES = ("file", "git", "http", "https", "ssh")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")  # git would run `git-remote-…` for it, or with `ext::` anything
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCP = re.compile(r"[^/]+:")  # host:path
_LOGIN = re.compile(r"(?<=://)[^/@\s]*(?=@)")
_LONGEST = 2000


def is_remote_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and ".." not in name and not name.endswith((".", ".lock"))


def checked_url(url: str) -> str:
    """The address as git gets it: a path is made absolute, as git runs in a directory of ours."""
    if not url or len(url) > _LONGEST or not url.isprintable():
        raise RemoteUrlRefused(url=url[:80], reason="it is empty, too long or not printable")
    if url.startswith("-"):
        raise RemoteUrlRefused(url=url, reason="it begins with a dash")
    if _HELPER.match(url):
        raise RemoteUrlRefused(url=shown_url(url), reason="it names a helper program of git")
    scheme = _SCHEME.match(url)
    if scheme is None:
        return url if _SCP.match(url) else os.path.abspath(os.path.expanduser(url))
    if scheme[1].lower() not in SCHEMES:
        raise RemoteUrlRefused(url=shown_url(url), reason=f"{scheme[1]} is not a protocol that git knows")
    return url


def shown_url(url: str) -> str:
    """Without what stands before the `@`, unless it is a user's name alone."""
    login = _LOGIN.search(url)
    if login is None:
        return url
    user, colon, _ = login[0].partition(":")
    # A lone name is a token as often as it is a user, except for ssh, where it is a user always.
    kept = user if url.startswith("ssh:") or (colon and user) else ""
    return _LOGIN.sub(f"{kept}:***" if colon else kept or "***", url, count=1)


def without_login(text: str, url: str) -> str:
    """What git says about a remote, with everything secret in the address blotted out."""
    login = _LOGIN.search(url)
    if login is None:
        return text
    text = text.replace(url, shown_url(url))
    secrets = [login[0], login[0].partition(":")[2]] if ":" in login[0] else [login[0]]
    for secret in secrets:
        if secret and not url.startswith("ssh:"):
            text = text.replace(secret, "***")
    return text
