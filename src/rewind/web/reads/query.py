"""The values of a request, checked before anything is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewind.controller import is_name, is_session_id
from rewind.errors import BadRequest, CheckpointNotFound, SessionNotFound

_HIGHEST = 1_000_000_000


@dataclass(frozen=True)
class Query:
    places: Mapping[str, str]  # the variable parts of the path
    values: Mapping[str, Sequence[str]]

    @property
    def session(self) -> str:
        found = self.places["session"]
        if not is_session_id(found):
            raise SessionNotFound(name=found[:50])
        return found

    @property
    def checkpoint(self) -> str:
        return self.checkpoint_named(self.places["name"])

    def checkpoint_named(self, name: str) -> str:
        """Only a full name is accepted: `last` would be another checkpoint a moment later."""
        if not is_name(name):
            raise CheckpointNotFound(name=name[:50])
        return name

    def checkpoint_or_now(self, key: str) -> str | None:
        """None stands for now."""
        name = self.text(key, 100) or "now"
        return None if name == "now" else self.checkpoint_named(name)

    def place(self, key: str, *, low: int = 1) -> int:
        return _number(self.places[key], key, low, _HIGHEST)

    def number(self, key: str, default: int, *, low: int = 0, high: int = _HIGHEST) -> int:
        """A number above `high` means `high`."""
        given = self.text(key, 20)
        return min(_number(given, key, low, _HIGHEST), high) if given else max(default, low)

    def text(self, key: str, longest: int) -> str:
        found = self.texts(key, longest)
        return found[0] if found else ""

    def texts(self, key: str, longest: int) -> list[str]:
        found = list(self.values.get(key, ()))
        if any(len(text) > longest for text in found):
            raise BadRequest(f"{key} is too long.")
        return found

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        found = self.text(key, 20) or choices[0]
        if found not in choices:
            raise BadRequest(f"{key} is one of {', '.join(choices)}.")
        return found


def _number(text: str, key: str, low: int, high: int) -> int:
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12) or not low <= int(text) <= high:
        raise BadRequest(f"{key} must be a positive integer.")
    return int(text)
