"""What a profile must contain. A profile of the user is checked when it is loaded."""

from __future__ import annotations

from rewind.agents.profile import OPLOG, ROLLOUT, SQLITE, TREE, Profile
from rewind.errors import ProfileInvalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Union

    from rewind.jsonfile import JsonObject

    Check = Callable[[object], bool]
    Shape = Union[Check, list["Shape"], dict[str, "Shape"]]

FORMAT = 1
KINDS = (TREE, ROLLOUT, OPLOG, SQLITE)
LINKS = ("parent-uuid", "file-order")
FORKS = ("prefix-copy",)
FOLDERS = ("alphanumeric", "slashes", "dates", "marked")
SCRIPTS = ("opencode.js",)


def make_profile(data: Any, file: str) -> Profile:
    problem = _problem(data)
    if problem:
        raise ProfileInvalid(file=file, problem=problem)
    return Profile(data)


# The shape of a profile. A key that ends with `?` may be null, and one that begins with `*` may be missing.

def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.replace("-", "").isalnum() and value.isascii()


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10_000


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_names(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_where(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_where(item) and isinstance(item, dict) for item in value)
    return isinstance(value, dict) and all(isinstance(values, list) for values in value.values())


def _is_one_where(value: object) -> bool:
    return isinstance(value, dict) and _is_where(value)


def _is_command(value: object) -> bool:
    rest = value.replace("{session}", "") if isinstance(value, str) else "{"
    return "{" not in rest and "}" not in rest


def _one_of(choices: tuple[str, ...]) -> Check:
    def check(value: object) -> bool:
        return value in choices

    check.__doc__ = "one of " + ", ".join(choices)
    return check


_WHAT: dict[Check, str] = {
    _is_text: "a text", _is_name: "letters, digits and dashes", _is_bool: "true or false",
    _is_count: "a number from 1 to 10000", _is_texts: "a list of texts", _is_object: "an object",
    _is_names: "an object of texts",
    _is_where: "a condition", _is_one_where: "one condition, not a list",
    _is_command: "a command in which only {session} is filled in"}
_TITLE: dict[str, Shape] = {"line": _is_where, "field": _is_text, "*entry": _is_text}
_SHAPE: dict[str, Shape] = {
    "format": lambda value: value == FORMAT,
    "name": _is_name,
    "title": _is_text,
    "environment": {"marks": _is_texts, "session?": _is_text, "pid?": _is_text, "project?": _is_text,
                    "envFile?": _is_text},
    "sessions?": {"home": _is_text, "homeVariable?": _is_text, "homeBelow": _is_text, "root": _is_text,
                  "folders": _one_of(FOLDERS), "flat": _is_bool, "*side": _is_where,
                  "*mark": _is_text, "*below": _is_text},
    "recognise?": {"within": _is_count, "*keys": _is_texts, "*equals": _is_where},
    "*kind": _one_of(KINDS),
    "links": _one_of(LINKS),
    "lines": {"id": _is_text, "parent?": _is_text, "logicalParent?": _is_text, "timestamp?": _is_text,
              "cwd?": _is_text, "version?": _is_text, "entry": _is_where, "sideline": _is_where,
              "*main": _is_where, "user": _is_where, "assistant": _is_where, "passing": _is_where,
              "content": _is_texts, "*lostParentSeconds": _is_count},
    "prompt": {"require": _is_where, "absentOr": _is_one_where,
               "refuse": _is_one_where, "refuseKeys": _is_texts, "refuseBlocks": _is_texts,
               "imageBlocks": _is_texts, "text": _one_of(("all", "first")), "envelopes": _is_texts,
               "refuseStarts": _is_texts, "refuseTexts": _is_texts, "*skipBlocks": _is_texts,
               "*genuine": _is_where, "*notices": _is_texts,
               "commands?": {"starts": _is_texts, "genuine": _is_where}, "joinKey?": _is_text},
    "leaf?": {"line": _is_where, "*exact": _is_where, "id": _is_text, "append": _is_object,
              "since?": _is_text},
    "compaction?": {"line": _is_where, "summary?": _is_where, "*kept?": _is_text, "resumable": _is_bool},
    "titles": [_TITLE],
    "fork": {"strategy": _one_of(FORKS), "emptyResumes": _is_bool, "*inPlace": _is_bool,
             "*notInPlace": _is_text, "append": [_is_object],
             "header?": {"set": _is_object, "setIfPresent": _is_object, "drop": _is_texts,
                         "lastMessage": {"refuse": _is_where}},
             "titleField?": {"field": _is_text, "within": _is_count},
             "sidecars": [{"suffix": _is_text, "drop": _is_texts}]},
    "native?": {"within": _is_count, "session": _is_text, "event": _is_text},
    "liveness?": {"folder": _is_text, "session": _is_text, "start?": _is_text, "*domain": _is_text,
                  "busy?": _is_where},
    "*locks?": {"folder": _is_text, "suffix": _is_text},
    "payload?": dict.fromkeys(("event", "session", "transcript", "cwd", "tool", "input", "prompt", "promptId",
                               "messageId", "toolUseId", "source", "subagent", "envFile", "files",
                               "patch", "command"), _is_texts),
    # It may be missing: the sessions of an agent without hooks can still be rewound.
    "*registration?": {"settings": _is_text, "*local?": _is_text, "flat?": _is_text, "project": _is_text,
                       "disabled?": _is_text, "*plugin?": _is_text, "*named": _is_bool, "*consent": _is_text,
                       "*script": _one_of(SCRIPTS), "*home": _is_text, "*homeVariable?": _is_text,
                       "*homeBelow": _is_text, "*needs": _is_text, "*note": _is_text,
                       "*events": _is_names, "*hookName": _is_text, "*timeoutsPerSecond": _is_count,
                       "*comments": _is_bool,
                       "*trust": dict.fromkeys(("file", "trusted", "parent", "variable", "setting"),
                                               _is_text)},
    "commands": {"resume": _is_command, "start": _is_text, "*server": _is_texts,
                 "*import": _is_texts, "*delete": _is_texts},
    "tools": {"edit": _is_texts, "shell": _is_texts},
}


def _problem(data: Any, shape: Shape | None = None, where: str = "") -> str:
    """The first problem of the data, or an empty text."""
    shape = _SHAPE if shape is None else shape
    if callable(shape):
        if shape(data):
            return ""
        shape = _is_text if shape is _is_command and not isinstance(data, str) else shape
        return f"{where} must be {_WHAT.get(shape) or shape.__doc__ or FORMAT}"
    if isinstance(shape, list):
        if not isinstance(data, list):
            return f"{where} must be a list"
        found = (_problem(item, shape[0], f"{where}[{i}]") for i, item in enumerate(data))
        return next((text for text in found if text), "")
    if not isinstance(data, dict):
        return f"{where or 'it'} must be an object"
    return _problem_in_object(data, shape, where)


def _problem_in_object(data: JsonObject, shape: dict[str, Shape], where: str) -> str:
    for key, inner in shape.items():
        name = key.strip("?*")
        path = f"{where}.{name}" if where else name
        if name not in data:
            if key.startswith("*"):
                continue
            return f"{path} is missing"
        if data[name] is None and key.endswith("?"):
            continue
        problem = _problem(data[name], inner, path)
        if problem:
            return problem
    known = {key.strip("?*") for key in shape}
    unknown = sorted(set(data) - known)
    return f"{where + '.' if where else ''}{unknown[0]} is not a field" if unknown else ""
