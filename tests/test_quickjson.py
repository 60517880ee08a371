"""Our door to JSON agrees with `json`, in values and in what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.fast import quickjson

SOURCE = str(Path(__file__).resolve().parents[1] / "src")
TEXT = st.text(st.characters())  # surrogates too: names that are not UTF-8 are kept that way
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5), max_leaves=30)
INVALID = ["", " ", "{", "[", "}", "[1,]", "[1 2]", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "{'a':1}", '"',
           '"\\"', '"\\x"', '"\\u12"', '"\n"', '"\t"', "nul", "tru", "NaN", "Infinity", "-Infinity", "[NaN]",
           "01", "+1", "1.", ".5", "-", "1e", "1 2", "null null", "[1]]", "//", "\ufeff1", "\x0b1", "\xa01"]


def refuse(name: str) -> NoReturn:
    raise ValueError(name)


def outcome(loads: Any, text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return ValueError


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_every_value_comes_back_and_looks_as_json_writes_it(value: Any) -> None:
    text = quickjson.dumps(value)
    assert text == json.dumps(value)
    assert quickjson.loads(text) == value == quickjson.loads(text.encode())
    assert text.isascii()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(TEXT, VALUES))
def test_sorted_keys_and_files_hold_the_same_value(value: dict[str, Any]) -> None:
    assert quickjson.dumps(value, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert json.loads(quickjson.dump_file(value)) == value == quickjson.loads(quickjson.dump_file(value))


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(0, 200), st.text(' \n{}[],:"\\u0123eE+-.truefalsnN\x00\x1f\xa0ü', max_size=3))
def test_whatever_json_makes_of_a_damaged_text_we_make_too(value: Any, at: int, inserted: str) -> None:
    text = json.dumps(value)
    at %= len(text)
    for damaged in (text[:at], text[:at] + inserted + text[at:], text[:at] + inserted + text[at + 1:]):
        expected = outcome(lambda t: json.loads(t, parse_constant=refuse), damaged)
        assert outcome(quickjson.loads, damaged) == expected


@pytest.mark.parametrize("text", INVALID)
def test_invalid_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        quickjson.loads(text)
    with pytest.raises(ValueError):
        quickjson.loads(text.encode())


@pytest.mark.parametrize("data", [b"\xff", b'"\xff"', '{"a": 1}'.encode("utf-16"), b"\0"])
def test_bytes_that_are_not_utf8_are_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        quickjson.loads(data)


def test_nesting_without_end_is_an_error_and_no_crash() -> None:
    with pytest.raises((RecursionError, ValueError)):
        quickjson.loads("[" * 1_000_000)


def test_what_has_no_json_form_is_a_type_error() -> None:
    for value in (b"bytes", {1, 2}, object()):
        with pytest.raises(TypeError):
            quickjson.dumps(value)


def test_a_value_that_holds_itself_is_an_error() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises((ValueError, RecursionError)):
        quickjson.dumps(loop)


@pytest.mark.slow
def test_in_a_fresh_process_invalid_text_is_a_value_error_too() -> None:
    code = f"""
import sys; sys.path.insert(0, {SOURCE!r})
from rewind.fast import quickjson
assert quickjson.loads(' {{"a": [1, 2.5, null, "\\u00fc"]}} ') == {{"a": [1, 2.5, None, "\\xfc"]}}
assert quickjson.dumps({{"b": [True], "a": "\\n"}}, sort_keys=True) == '{{"a": "\\\\n", "b": [true]}}'
assert "json" not in sys.modules and "re" not in sys.modules
try:
    quickjson.loads(sys.argv[1].encode("ascii").decode("unicode_escape"))
except ValueError:
    print("refused")
"""
    for text in INVALID:
        escaped = text.encode("unicode_escape").decode("ascii")
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code, escaped],
                              capture_output=True, text=True)
        assert done.stdout == "refused\n", (text, done)
