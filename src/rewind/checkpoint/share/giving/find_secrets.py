"""Finds secrets in texts: well-known keys by their form, other values by the word beside them.

It does not find all of them; `docs/share.md` says which it misses. A text is first searched for plain words,
which is fast. A pattern is tried only if one of its words occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import NamedTuple

from rewind.checkpoint.share.giving.secret_patterns import KINDS, NPM, URL_PASSWORD, SecretKind

LARGEST = 16 << 20  # bytes of a file that is searched; of a larger one only the name is checked
_ASSIGNED = "assigned-secret"
_WORDS = (b"password", b"passwd", b"pwd", b"secret", b"token", b"api_key", b"apikey", b"api-key",
          b"access_key", b"accesskey", b"private_key", b"credential", b"auth_key", b"encryption_key",
          b"signing_key")
# A value beside such a word. The name may be longer (`DB_PASSWORD_PROD`) and quoted, as in JSON and YAML.
_ASSIGNMENT = (
    rb"(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access_?key|private_key|credential|auth_key"
    rb"|encryption_key|signing_key)[A-Za-z0-9_-]{0,30}[\"']?\s{0,8}(?:=>|:=|=|:)\s{0,8}"
    rb"(?:\"([^\"\s\\]{8,300})\"|'([^'\s\\]{8,300})'|([A-Za-z0-9+/=_.!@#%^&*~-]{8,128})(?=\s|$|\\))")
_NAMES_A_SECRET = (
    rb"(?i)(?:^|[_-]|[a-z])(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)$")
_PLACEHOLDER = (
    rb"(?i)example|changeme|change_me|change-me|placeholder|dummy|redacted|your[_-]|<|>|\$\{|\{\{|xxxx|\*\*\*|\.\.\.|^user$"
    rb"|^pass(?:word|wd)?$|^secret$|^token$|insert|fixme|todo|[0-9a-f]{0,4}deadbeef|^test|^none$|^null$|^true$|^false$")
_IN_ANY_CASE = frozenset((b"aws_secret", b"_authtoken", b"_auth", b"_password", b"authorization"))
_ANY_CASE = [(literal, kind) for kind in KINDS for literal in kind.literals if literal in _IN_ANY_CASE]
_PLAIN = [(literal, kind) for kind in KINDS for literal in kind.literals if literal not in _IN_ANY_CASE]
_BETWEEN = rb"[._/:-]"
_NAME_PART = rb"[A-Za-z]*[0-9]{0,3}|[0-9]+"
_LOCAL = (rb"localhost|127\.[0-9.]+|0\.0\.0\.0|\[.*|(?:my|some|your)?host(?:name)?|.*example.*"
          rb"|server")
_TRY_OUT = (rb"(?i)(?:pass(?:word|wd|phrase)?|tiger|secret|foo|bar|baz|test|root|admin|postgres|guest)"
            rb"[^A-Za-z]{0,6}")
_CODE = frozenset(b"()[]{}<>`$|,;")
_LEAST_BITS = 3.0  # entropy per character of a random value
_LONG = 20


class Found(NamedTuple):
    """One secret: its kind and where it is."""

    kind: str
    start: int
    end: int


def find_secrets(data: bytes, well_known_only: bool = False) -> list[Found]:
    """In the order of the text, without overlaps."""
    if len(data) < 8:
        return []
    folded = data.lower()
    found = [one for kind in _candidates(data, folded) for one in _matches(kind, data)]
    if not well_known_only and any(word in folded for word in _WORDS):
        found += _assigned(data)
    return _apart(found) if found else []


def may_hold_secret(data: bytes) -> bool:
    """A fast test: False means that there is almost certainly no secret."""
    folded = data.lower()
    return any(word in folded for word in _WORDS) or bool(_candidates(data, folded))


def _candidates(data: bytes, folded: bytes) -> list[SecretKind]:
    """One search for each literal, which is much faster than one pattern for all of them."""
    found = [kind for literal, kind in _PLAIN if literal in data]
    found += [kind for literal, kind in _ANY_CASE if literal in folded]
    return list(dict.fromkeys(found)) if len(found) > 1 else found


def _matches(kind: SecretKind, data: bytes) -> Iterator[Found]:
    for match in kind.pattern.finditer(data):
        if not is_placeholder(match[kind.group]) and not _is_harmless(kind, match):
            yield Found(kind.name, match.start(kind.group), match.end(kind.group))


def _is_harmless(kind: SecretKind, match: re.Match[bytes]) -> bool:
    """Whether it has the form of a secret but is none: a login for this machine, a variable in code."""
    if kind.name == URL_PASSWORD:
        secret, host = match["secret"], match["host"].lower()
        tried = re.fullmatch(_LOCAL, host) or re.fullmatch(_TRY_OUT, secret)
        return bool(tried) or secret == match["user"]
    return kind.name == NPM and kind.group == 1 and not is_random(match[1], quoted=True)


def _assigned(data: bytes) -> Iterator[Found]:
    for match in re.finditer(_ASSIGNMENT, data):
        group = match.lastindex or 0
        if is_random(match[group], quoted=group < 3):
            yield Found(_ASSIGNED, match.start(group), match.end(group))


def _apart(found: list[Found]) -> list[Found]:
    kept: list[Found] = []
    for one in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def is_placeholder(value: bytes) -> bool:
    """Whether this is what documentation and tests write in place of a secret."""
    head = value[:400]
    return bool(re.search(_PLACEHOLDER, head)) or len(set(head)) < 5


def is_random(value: bytes, quoted: bool) -> bool:
    """Whether a value beside such a word looks random, and not like a name or a piece of code."""
    if is_placeholder(value) or not _CODE.isdisjoint(value):
        return False
    has_digit = any(48 <= c <= 57 for c in value)
    has_letter = any(c | 32 in range(97, 123) for c in value)
    if not (has_digit and has_letter) or _is_a_name(value):
        return False
    if len(value) < _LONG and not quoted and value.islower():
        return False
    return entropy(value) >= _LEAST_BITS - (0.5 if len(value) < 12 else 0.0)


def _is_a_name(value: bytes) -> bool:
    """Such as `user_token_2`, `auth.v1.client`, `password1`: words with numbers."""
    parts = re.split(_BETWEEN, value)
    return all(re.fullmatch(_NAME_PART, part) or (len(parts) > 1 and len(part) < 7) for part in parts)


def entropy(value: bytes) -> float:
    """Bits per character."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * log2(share) for share in shares)


def names_a_secret(key: str) -> bool:
    """Whether a field of this name, in JSON, holds a secret."""
    return bool(re.search(_NAMES_A_SECRET, key.encode("utf-8", "surrogatepass")))


def line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
