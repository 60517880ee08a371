"""`manifest.json`, the first member of a snapshot's archive: what tar cannot express.

That is the record, the rules at that time, and what was there but not captured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from rewind.errors import FormatTooNew, RewindError, StoreDamaged
from rewind.jsonfile import JsonObject
from rewind.snapshot.rules.rules import Rules, bytes_of, text_of
from rewind.snapshot.trees.tree import unsafe_name

FORMAT = 1
MAX_BYTES = 64 << 20
_MAX_VALUES = 2_000_000  # each takes Python a hundred bytes, even if it is short in the file
_MAX_DEPTH = 32
_MAX_DIGITS = 20
_LIMITS = ("fileBytes", "dirFiles", "dirBytes", "maxBytes")
_REASON_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-")


class Manifest:
    """The checked content of a manifest: nothing in it has a wrong type or an unsafe name."""

    def __init__(self, raw: bytes, value: JsonObject) -> None:
        self.digest = sha256(raw).digest()
        self.metadata = _object(value, "metadata")
        self.tree = _id(_object(self.metadata, "code"), "tree")
        self.rules = _rules(_object(value, "rules"))
        if sha256(self.rules).digest() != _id(self.metadata["code"], "rules"):
            raise ValueError("its rules are not those of its record")
        self.uncovered: dict[bytes, dict[bytes, bytes]] = {}  # directory -> name -> reason
        self.partial: dict[bytes, bytes] = {}  # directory -> reason
        for path, reason in _pairs(value, "uncovered"):
            folder, _, name = path.rpartition(b"/")
            _add_once(self.uncovered.setdefault(folder, {}), name, reason, path)
        for path, reason in _pairs(value, "partial"):
            _add_once(self.partial, path, reason, path)


def encode(metadata: Mapping[str, object], rules: bytes, uncovered: list[tuple[bytes, bytes]],
           partial: list[tuple[bytes, bytes]]) -> bytes:
    """`uncovered` and `partial` hold pairs of path and reason."""
    value = {"format": FORMAT, "metadata": metadata, "rules": json.loads(rules),
             "uncovered": [[text_of(path), text_of(reason)] for path, reason in uncovered],
             "partial": [[text_of(path), text_of(reason)] for path, reason in partial]}
    if _canonical(value["rules"]) != rules:
        raise StoreDamaged(what="the rules of a checkpoint are not in their usual form")
    raw = _canonical(value)
    if len(raw) > MAX_BYTES or _too_many_values(raw):
        raise RewindError("The snapshot has too many paths that were not captured for an archive.")
    return raw


def decode(file: str, raw: bytes) -> Manifest:
    """The manifest of the archive `file`. Raises ValueError with the reason if it is not usable."""
    if _too_many_values(raw):
        raise ValueError("it has too many values")
    try:
        value = json.loads(raw.decode(), parse_int=_integer, parse_constant=_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply")
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    found = value.get("format")
    if type(found) is not int or found < 1:
        raise ValueError("it does not say its format")
    if found > FORMAT:
        raise FormatTooNew(what=file, found=found, known=FORMAT)
    return Manifest(raw, value)


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _too_many_values(raw: bytes) -> bool:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{") > _MAX_VALUES


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("a number in it is too long")
    return int(text)


def _constant(text: str) -> object:
    raise ValueError(f"{text} is not a number")


def _object(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    if not isinstance(found, dict):
        raise ValueError(f"it has no usable {key!r}")
    if not _is_shallow(found):
        raise ValueError("it is nested too deeply")
    return found


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [child for parent in level if isinstance(parent, (dict, list))
                 for child in (parent.values() if isinstance(parent, dict) else parent)]
    return not level


def _id(value: JsonObject, key: str) -> bytes:
    found = value.get(key)
    if not isinstance(found, str) or len(found) != 64 or found.strip("0123456789abcdef"):
        raise ValueError(f"it has no usable id of its {key}")
    return bytes.fromhex(found)


def _rules(value: JsonObject) -> bytes:
    blob = _canonical(value)
    usable = (value.get("format") == 1 and value.get("ignored") in ("small", "all", "none")
              and all(type(value.get(key)) is int for key in _LIMITS))
    try:
        Rules.from_json(blob)
    except (KeyError, TypeError, ValueError, AttributeError):
        usable = False
    if not usable:
        raise ValueError("it has no usable rules")
    return blob


def _pairs(value: JsonObject, key: str) -> list[tuple[bytes, bytes]]:
    found = value.get(key)
    if not isinstance(found, list):
        raise ValueError(f"it has no usable {key!r}")
    return [_pair(item, key) for item in found]


def _pair(item: object, key: str) -> tuple[bytes, bytes]:
    if not (isinstance(item, list) and len(item) == 2 and all(isinstance(i, str) for i in item)):
        raise ValueError(f"an entry of its {key!r} is malformed")
    path, reason = bytes_of(item[0]), bytes_of(item[1])
    top = key == "partial" and not path  # the project's own directory
    if not top and (b"\0" in path or any(map(unsafe_name, path.split(b"/")))):
        raise ValueError(f"the path {item[0]!a:.200} may not be there")
    if not 0 < len(reason) <= 64 or not _REASON_LETTERS.issuperset(reason):
        raise ValueError(f"an entry of its {key!r} has a malformed reason")
    return path, reason


def _add_once(known: dict[bytes, bytes], name: bytes, reason: bytes, path: bytes) -> None:
    if name in known:
        raise ValueError(f"it names {text_of(path)!a:.200} twice")
    known[name] = reason
