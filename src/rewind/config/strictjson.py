"""Reading a JSON object from a file that a person, or a stranger, has written.

It is strict and has limits. Every problem becomes one sentence that names the file.
"""

from __future__ import annotations

import errno
import os

from rewind.config.settings import shown
from rewind.errors import ConfigInvalid, RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.jsonfile import JsonObject

SIZE_LIMIT = 1 << 20
_MARK = "\ufeff"  # some editors put it at the beginning
NUMBER_LIMIT = 64  # digits; before Python 3.11, reading a number takes quadratic time


class Refused(ValueError):
    """Valid JSON that is refused nevertheless."""


def invalid(file: str, *problems: str, hint: str | None = None) -> ConfigInvalid:
    error = ConfigInvalid(problem="\n".join(problems), file=file, hint=hint)
    error.problems = list(problems)
    return error


def read_object(file: str, *, follow: bool) -> JsonObject:
    """The object in `file`, or {} if there is no such file. `follow`: it may be a symbolic link."""
    try:
        data = read_bounded(os.path.realpath(file) if follow else file, SIZE_LIMIT)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise invalid(file, _unreadable(file, error)) from None
    except RewindError as error:
        raise invalid(file, error.message) from None
    found = _parse(file, data)
    if not isinstance(found, dict):
        raise invalid(file, f"{file} must hold a JSON object, not {shown(found)}.")
    return found


def _unreadable(file: str, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return f"{file} is a symbolic link, which is not followed here."
    return f"{file} cannot be read: {error.strerror}."


def _parse(file: str, data: bytes) -> Any:
    try:
        text = data.decode("utf-8")
        return quickjson.loads(text[1:] if text.startswith(_MARK) else text, _Strictest)
    except UnicodeDecodeError as error:
        problem = f"{file} is not UTF-8 text (byte {error.start})."
    except Refused as error:
        problem = f"{file} is not valid: {error}."
    except RecursionError:
        problem = f"{file} is nested too deeply."
    except ValueError:
        problem = _where(file, data)
    raise invalid(file, problem)


def _where(file: str, data: bytes) -> str:
    """What is wrong with text that is not JSON. This imports `json`, which takes time."""
    import json

    try:
        json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        return f"{file} is not valid JSON (line {error.lineno}, column {error.colno}): {error.msg}."
    return f"{file} is not valid JSON."


def unique_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise Refused(f"the key {shown(key)} is there twice")
        found[key] = value
    return found


def _integer(text: str) -> int:
    return int(_bounded(text))


def _float(text: str) -> float:
    value = float(_bounded(text))
    if value in (float("inf"), float("-inf")):
        raise Refused(f"the number {text} is too large")
    return value


def _bounded(text: str) -> str:
    if len(text) > NUMBER_LIMIT:
        raise Refused(f"a number of {len(text)} digits is too long")
    return text


def _constant(name: str) -> Any:
    raise Refused(f"{name} is not a number")


class _Strictest(quickjson.Strict):
    object_pairs_hook = staticmethod(unique_keys)
    parse_int = staticmethod(_integer)
    parse_float = staticmethod(_float)
    parse_constant = staticmethod(_constant)
