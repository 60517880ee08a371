"""The form in which Watchman talks: every value comes back, and no garbage does harm."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewind.snapshot.watchman.bser import HEAD, NotBser, dumps, loads, message_size

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALUES = st.recursive(
    st.booleans() | st.integers(-2**63, 2**63 - 1) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.binary(max_size=5), inner, max_size=4),
    max_leaves=20)


@PATIENT
@given(VALUES)
def test_what_is_sent_can_be_read(value: object) -> None:
    message = dumps(value)
    assert message_size(message[:16]) == len(message)
    assert loads(message) == value


@PATIENT
@given(VALUES, st.integers(0, 200))
def test_a_message_that_is_cut_off_is_none(value: object, at: int) -> None:
    message = dumps(value)
    cut = message[:min(at, len(message) - 1)]
    if len(cut) > 3:
        with pytest.raises(NotBser):
            loads(cut)


@PATIENT
@given(st.binary(max_size=60))
def test_garbage_is_refused(garbage: bytes) -> None:
    try:
        loads(HEAD + b"\x03\x10" + garbage)
    except NotBser:
        pass


def test_rows_that_share_their_keys() -> None:
    name = b"\x02\x03\x04name"
    body = b"\x0b\x00\x03\x01" + name + b"\x03\x02" + b"\x02\x03\x01a" + b"\x02\x03\x02b\xff"
    assert loads(HEAD + b"\x03" + bytes((len(body),)) + body) == [{b"name": b"a"}, {b"name": b"b\xff"}]


def test_no_memory_is_taken_on_somebodys_word() -> None:
    huge = struct.pack("=q", 1 << 40)
    for body in (b"\x00\x06" + huge, b"\x02\x06" + huge, b"\x01\x06" + huge):
        with pytest.raises(NotBser):
            loads(HEAD + b"\x03\x0a" + body)


def test_lists_in_lists_end_somewhere() -> None:
    with pytest.raises(NotBser):
        loads(HEAD + b"\x05\x00\x10\x00\x00" + b"\x00\x03\x01" * 1000 + b"\x08")


@pytest.mark.parametrize("start", [b"HTTP/1.1 200", b"\x00\x02\x03", b"\x00\x01\x02", b"\x00\x01\x03\xff"])
def test_what_does_not_begin_like_a_message_is_none(start: bytes) -> None:
    with pytest.raises(NotBser):
        message_size(start)
