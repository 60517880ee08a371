"""Changing one setting in a configuration file without changing anything else in it.

Hooks do not load this: only `rewind config` writes these files.
"""

from __future__ import annotations

import json
import os
from typing import Any

from rewind.config.settings import BY_KEY, GROUPS, shown, unknown
from rewind.config.strictjson import invalid, read_object
from rewind.errors import StateUnwritable
from rewind.files import make_private_dir, sweep_drafts, write_atomic
from rewind.jsonfile import JsonObject

_HINT = "Run `rewind config` to see every setting."


def set_value(file: str, key: str, text: str, project: bool) -> Any:
    """Write what a person typed for `key` into the project's file or the user's own."""
    _check_key(file, key)
    setting = BY_KEY[key]
    value = setting.parse(text)
    problem = setting.problem(value, project)
    if problem:
        raise invalid(file, problem + ".", hint=_HINT)
    found = read_object(file, follow=not project)
    *groups, name = key.split(".")
    _inner(file, found, groups)[name] = value
    _write(file, found, project)
    return value


def unset_value(file: str, key: str, project: bool) -> bool:
    """Remove `key`, so that the layer below counts again. False if the file does not set it.

    A key that is not a setting can be removed as well, because it may be a typing error.
    """
    found = read_object(file, follow=not project)
    if not _remove(found, key.split(".")):
        _check_key(file, key)
        return False
    _write(file, found, project)
    return True


def _check_key(file: str, key: str) -> None:
    if key in GROUPS:
        inner = ", ".join(name for name in BY_KEY if name.startswith(key + "."))
        raise invalid(file, f"{key} is a group of settings: {inner}.", hint=_HINT)
    if key not in BY_KEY:
        raise invalid(file, unknown(key) + ".", hint=_HINT)


def _inner(file: str, found: JsonObject, groups: list[str]) -> JsonObject:
    at = found
    for depth, group in enumerate(groups, 1):
        at = at.setdefault(group, {})
        if not isinstance(at, dict):
            name = ".".join(groups[:depth])
            raise invalid(file, f"{file}: {name} must be an object, not {shown(at)}.")
    return at


def _remove(found: JsonObject, parts: list[str]) -> bool:
    name, *rest = parts
    if name not in found:
        return False
    if not rest:
        del found[name]
        return True
    inner = found[name]
    if not isinstance(inner, dict) or not _remove(inner, rest):
        return False
    if not inner:
        del found[name]
    return True


def _write(file: str, found: JsonObject, project: bool) -> None:
    try:
        text = json.dumps(found, indent=2) + "\n"
    except RecursionError:
        raise invalid(file, f"{file} is nested too deeply.") from None
    # The user's file may be a link into their dotfiles. Then its target is meant.
    target = file if project else os.path.realpath(file)
    try:
        if not project:
            make_private_dir(os.path.dirname(target))
            sweep_drafts(target)
        write_atomic(target, text.encode())
    except OSError as error:
        raise StateUnwritable(reason=error.strerror, path=target) from None
