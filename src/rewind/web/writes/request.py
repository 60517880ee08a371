"""The fields of a message from the page, checked before they are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewind.controller import Controller, is_name, is_session_id
from rewind.errors import BadRequest, CheckpointNotFound, SessionNotFound

if TYPE_CHECKING:
    from rewind.jsonfile import JsonObject

_MOST_SESSIONS = 500
_LONGEST_TEXT = 2000


@dataclass(frozen=True)
class Request:
    """A field of the wrong type is refused."""

    data: JsonObject

    def text(self, key: str, *, longest: int = _LONGEST_TEXT) -> str:
        found = self.data.get(key)
        if found is None:
            return ""
        if not isinstance(found, str) or len(found) > longest:
            raise BadRequest(f"{key} is not a text that makes sense.")
        return found

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """The first of the choices if the field is missing."""
        found = self.text(key) or choices[0]
        if found not in choices:
            *others, last = filter(None, choices)
            raise BadRequest(f"{key} is {', '.join(others)} or {last}.")
        return found

    def session(self, controller: Controller) -> str:
        return _session(controller, self.data.get("sessionId"))

    def sessions(self, controller: Controller) -> list[str]:
        found = self.data.get("sessionIds")
        if not isinstance(found, list) or not 0 < len(found) <= _MOST_SESSIONS:
            raise BadRequest("sessionIds is not a list of sessions.")
        return [_session(controller, one) for one in found]

    def checkpoint_or_now(self, key: str) -> str | None:
        """None stands for now."""
        return None if self.data.get(key, "now") == "now" else self.checkpoint(key)

    def checkpoint(self, key: str = "name") -> str:
        found = self.data.get(key)
        if not isinstance(found, str) or not is_name(found):
            raise CheckpointNotFound(name=str(found)[:50])
        return found

    def stamp(self) -> str:
        """The stamp of the plan that the person has seen; empty from a client that shows no plan."""
        return self.text("stamp", longest=100)

    def number(self, key: str) -> int:
        found = self.data.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= 1_000_000_000:
            raise BadRequest(f"{key} must be a positive integer.")
        return found

    def switch(self, key: str) -> bool:
        found = self.data.get(key, False)
        if not isinstance(found, bool):
            raise BadRequest(f"{key} is true or false.")
        return found

    def paths(self) -> list[str]:
        return self.texts("paths") if self.data.get("paths") is not None else []

    def texts(self, key: str) -> list[str]:
        found = self.data.get(key)
        if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
            raise BadRequest(f"{key} is not a list of {key}.")
        return found


def _session(controller: Controller, id: object) -> str:
    """Only sessions of this project are accepted, and only by their full id."""
    if not isinstance(id, str) or not is_session_id(id):
        raise SessionNotFound(name=str(id)[:50])
    return controller.session_file(id).session_id
