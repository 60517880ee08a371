"""Masks the secrets in a conversation, and replaces the project's directory by a neutral name.

What an agent needs to go on is never changed: ids, hashes, and signed thinking. A signed thought that holds a
secret is replaced by a remark: if it were changed, its signature would not match and the model would refuse
it.
"""

from __future__ import annotations

from typing import Any

from rewind.checkpoint.share.giving.find_secrets import (
    find_secrets,
    is_random,
    may_hold_secret,
    names_a_secret,
)
from rewind.jsonfile import JsonObject
from rewind.paths import Project

PROJECT = "/rewind-shared-project"  # stands for the project's directory, and `open` puts its own there
_STRUCTURE = frozenset((
    "id", "uuid", "parentUuid", "parent_id", "parentId", "logicalParentUuid", "leafUuid", "sessionId",
    "session_id", "parentSessionId", "promptId", "messageId", "message_id", "requestId", "request_id",
    "tool_use_id", "toolUseID", "toolUseId", "call_id", "callId", "agentId",
    "sourceToolAssistantUUID", "signature", "thoughtSignature",
    "encrypted_content", "timestamp", "type", "role", "model", "version", "hash", "sha256"))
_WITHHELD = "[A thought was left out: it quoted a secret]"
_SHORTEST = 8


class Masker:
    """For the lines of one conversation."""

    def __init__(self, old_root: str, new_root: str, with_secrets: bool = False, also: str = "") -> None:
        """Replaces the directories `old_root` and `also`, and masks secrets, unless `with_secrets`."""
        self._with_secrets = with_secrets
        self._root = Replaced([old_root, also] if also else [old_root], new_root)
        self._kinds: list[str] = []
        self._changed = False

    def line(self, raw: bytes) -> tuple[bytes, list[str]]:
        """The masked line, and the kinds of secrets that were in it."""
        has_root = self._root.is_in(raw)
        if not has_root and (self._with_secrets or not may_hold_secret(raw)):
            return raw, []
        import json

        try:
            data = json.loads(raw)
        except (ValueError, RecursionError):
            return self._torn(raw)
        self._kinds, self._changed = [], False
        try:
            data = self._value(data, "")
        except RecursionError:
            return self._torn(raw)
        return _dump(data) if self._changed else raw, self._kinds

    def text(self, text: str) -> str:
        self._kinds, self._changed = [], False
        return self._text(text)

    def _torn(self, raw: bytes) -> tuple[bytes, list[str]]:
        """For a line that is not one JSON object, such as half a line."""
        found = [] if self._with_secrets else find_secrets(raw)
        return self._root.in_bytes(_without(raw, found)), [one.kind for one in found]

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, str):
            return value if key in _STRUCTURE or len(value) < _SHORTEST else self._field(value, key)
        if isinstance(value, list):
            return [self._value(one, key) for one in value]
        if isinstance(value, dict):
            return self._object(value)
        return value

    def _object(self, data: JsonObject) -> JsonObject:
        if data.get("type") == "thinking" and data.get("signature"):
            return self._signed(data)
        if data.get("type") in ("base64", "redacted_thinking"):
            return data
        return {key: self._value(value, key) for key, value in data.items()}

    def _signed(self, data: JsonObject) -> JsonObject:
        text = str(data.get("thinking") or "")
        found = [] if self._with_secrets else find_secrets(_encode(text))
        if not found:
            return data
        self._kinds += [one.kind for one in found]
        self._changed = True
        return {"type": "text", "text": _WITHHELD}

    def _field(self, text: str, key: str) -> str:
        if not self._with_secrets and names_a_secret(key) and is_random(_encode(text), quoted=True):
            self._kinds.append("assigned-secret")
            self._changed = True
            return _marker("assigned-secret")
        return self._text(text)

    def _text(self, text: str) -> str:
        if not self._with_secrets:
            raw = _encode(text)
            found = find_secrets(raw)
            if found:
                self._kinds += [one.kind for one in found]
                text = _without(raw, found).decode("utf-8", "surrogatepass")
                self._changed = True
        replaced = self._root.in_text(text)
        self._changed = self._changed or replaced != text
        return replaced


def masker_for(project: Project, with_secrets: bool) -> Masker:
    """In the directory of a fork, that of its project is replaced as well."""
    return Masker(project.root, PROJECT, with_secrets, also=project.main)


class Replaced:
    """Replaces paths of directories by another path, but not `/a/project` in `/a/project2`."""

    def __init__(self, old: list[str], new: str) -> None:
        self._new = new
        self._old = sorted(set(old), key=len, reverse=True)
        self._forms: list[bytes] = []  # in JSON

    def is_in(self, raw: bytes) -> bool:
        if not self._forms:
            import json

            self._forms = sorted({_encode(json.dumps(path, ensure_ascii=plain)[1:-1]) for path in self._old
                                  for plain in (True, False)}, key=len, reverse=True)
        return any(form in raw for form in self._forms)

    def in_text(self, text: str) -> str:
        if not any(path in text for path in self._old):
            return text
        import re

        either = "|".join(map(re.escape, self._old))
        return re.sub(f"{_BEFORE}(?:{either}){_AFTER}", lambda match: self._new, text)

    def in_bytes(self, raw: bytes) -> bytes:
        if not self.is_in(raw):
            return raw
        import json
        import re

        new, either = json.dumps(self._new)[1:-1].encode(), b"|".join(map(re.escape, self._forms))
        return re.sub(b"(?:" + either + b")" + _AFTER.encode(), lambda match: new, raw)


_BEFORE = r"(?<![A-Za-z0-9_.~-])"
_AFTER = r"(?![A-Za-z0-9_~-]|\.[A-Za-z0-9])"


def _without(raw: bytes, found: list[Any]) -> bytes:
    parts, at = [], 0
    for one in found:
        parts += [raw[at:one.start], _marker(one.kind).encode()]
        at = one.end
    return b"".join([*parts, raw[at:]])


def _marker(kind: str) -> str:
    return f"[secret left out: {kind}]"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _dump(data: Any) -> bytes:
    import json

    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"
