"""JSON for the hot path: the C part of the standard library's `json`, without the rest.

`import json` also loads `re` and `enum`, which would cost every hook 8 ms. The C module does all the work
anyway. If a Python lacks it, `json` itself is used. Invalid text raises a `ValueError`, as there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Scan = Callable[[str, int], tuple[Any, int]]

_SPACE = " \t\n\r"


class Strict:
    """What the C scanner needs from its decoder. A subclass may look at values as they are read."""

    strict = True
    object_hook: Any = None
    object_pairs_hook: Any = None
    parse_float: Any = float
    parse_int: Any = int
    memo: dict[str, str] = {}

    @staticmethod
    def parse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")


def loads(data: bytes | str, how: type[Strict] = Strict) -> Any:
    text = (data if isinstance(data, str) else data.decode("utf-8")).strip(_SPACE)
    scan = _scan if how is Strict else _scanner(how)
    try:
        value, end = scan(text, 0)
    except (StopIteration, SystemError):
        # The C part leaves the error message to a module that is not loaded. So let that one report it.
        from json import loads as careful

        return careful(text)
    if end != len(text):
        raise ValueError("there is more text after the value")
    return value


def dumps(value: Any, *, sort_keys: bool = False) -> str:
    return "".join(_encoder(sort_keys)(value, 0))


def dump_file(value: Mapping[str, object]) -> bytes:
    """An object with one member on each line, for files that a person may want to read."""
    members = ",\n".join(f"  {dumps(key)}: {dumps(member)}" for key, member in value.items())
    return ("{\n" + members + "\n}\n").encode()


def _no_default(value: object) -> None:
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _make() -> tuple[Callable[[type[Strict]], Scan], Callable[[bool], Any]]:
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner

        scanner: Any = make_scanner

        def encoder(sort_keys: bool) -> Any:
            return make_encoder(None, _no_default, encode_basestring_ascii, None, ": ", ", ",
                                sort_keys, False, True)

        if ("".join(encoder(True)({"a": [1, None]}, 0)) != '{"a": [1, null]}'
                or scanner(Strict)("[1]", 0)[0] != [1]):
            raise ImportError
    except (ImportError, TypeError, AttributeError):
        from json import JSONDecoder, JSONEncoder

        def scanner(how: type[Strict]) -> Any:
            decoder: Any = JSONDecoder(object_pairs_hook=how.object_pairs_hook, parse_float=how.parse_float,
                                       parse_int=how.parse_int, parse_constant=how.parse_constant)
            return decoder.scan_once

        def encoder(sort_keys: bool) -> Any:
            plain = JSONEncoder(sort_keys=sort_keys)
            return lambda value, level: plain.iterencode(value)
    return scanner, encoder


_scanner, _encoder = _make()
_scan = _scanner(Strict)
