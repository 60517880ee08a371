"""Versions of a file that are unpacked one after another."""

from __future__ import annotations

import random

import pytest

from rewind.store import alike
from rewind.store.alike import Alike
from rewind.store.blobs import Unreadable, oid_of, pack

pytestmark = pytest.mark.slow


def versions(count: int, seed: int = 1) -> list[bytes]:
    chance = random.Random(seed)
    lines = [f"line {chance.random()} of it\n".encode() for _ in range(4000)]
    found = []
    for _ in range(count):
        found.append(b"".join(lines))
        at = chance.randrange(len(lines))
        lines[at:at + chance.choice((0, 1, 30))] = [b"changed %d\n" % chance.randrange(999)]
    return found


@pytest.mark.parametrize("level", [1, 6])
def test_every_version_is_what_it_was(level: int) -> None:
    unpacker = Alike()
    for data in versions(20):
        assert unpacker.unpack(oid_of(data), pack(data, level=level)) == data


def test_what_comes_in_between_does_no_harm() -> None:
    unpacker = Alike()
    texts = versions(4)
    others = [b"", b"short", random.Random(2).randbytes(50_000), b"x" * 200_000, texts[0], texts[0]]
    for number in range(40):
        data = (texts + others)[random.Random(number).randrange(10)]
        loose = number % 3 == 0
        assert unpacker.unpack(oid_of(data), pack(data, loose)) == data


def test_the_same_beginning_is_unpacked_once() -> None:
    """Else there is no reason for it to be here."""
    text = versions(1)[0]
    other = text[:-10] + b"the end 1\n"
    unpacker = Alike()
    assert unpacker.unpack(oid_of(text), pack(text)) == text
    before = list(unpacker._marks)
    assert unpacker.unpack(oid_of(other), pack(other)) == other
    kept = [mark for mark in unpacker._marks if any(mark is one for one in before)]
    assert len(kept) > len(before) / 2


@pytest.mark.parametrize("where", [2, 5000, 20_000, -3])
def test_damage_is_found_and_forgotten(where: int) -> None:
    unpacker = Alike()
    texts = versions(3)
    assert unpacker.unpack(oid_of(texts[0]), pack(texts[0])) == texts[0]
    packed = bytearray(pack(texts[1]))
    packed[where] ^= 0x55
    with pytest.raises(Unreadable):
        unpacker.unpack(oid_of(texts[1]), bytes(packed))
    with pytest.raises(Unreadable):
        unpacker.unpack(oid_of(texts[1]), pack(texts[1])[:-20])
    with pytest.raises(Unreadable):
        unpacker.unpack(oid_of(texts[2]), pack(texts[1]))
    assert unpacker.unpack(oid_of(texts[2]), pack(texts[2])) == texts[2]


def test_what_is_very_large_is_unpacked_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_MOST", 100_000)
    unpacker = Alike()
    for data in versions(3):
        assert unpacker.unpack(oid_of(data), pack(data)) == data
