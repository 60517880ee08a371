"""One wrong bit in a bundle costs nothing."""

from __future__ import annotations

import random

import pytest

from rewind.store.blobs import oid_of, raw
from rewind.store.bundles import BUNDLED, Gathering, Member, member
from rewind.store.mend import Mender
from rewind.store.mend_bundle import mend_bundle, mend_row


def made() -> tuple[bytes, bytes, list[tuple[bytes, Member]]]:
    chance = random.Random(4)
    words = [b"%x" % chance.getrandbits(40) for _ in range(300)]
    gathering = Gathering()
    contents = [b" ".join(chance.choices(words, k=300)) for _ in range(17)]
    for n, data in enumerate(contents):
        gathering.add(n, oid_of(data), data)
    gathering.close()
    ((_, packed),) = gathering.bundles
    rows = [(oid, member(row)) for _, oid, row in gathering.rows]
    return b"".join(contents), packed, [(oid, found) for oid, found in rows if found]


def test_wherever_the_bit_is_the_bundle_is_mended() -> None:
    content, packed, members = made()
    chance = random.Random(7)
    places = [0, 1, 2, 3, 9, 40, 100, len(packed) - 1, len(packed) - 300,
              *(chance.randrange(len(packed)) for _ in range(6))]
    for at in places:
        bad = bytearray(packed)
        bad[at] ^= 1 << chance.randrange(8)
        assert mend_bundle(bytes(bad), members, Mender()) == content, at


def test_more_than_one_bit_is_not_mended() -> None:
    content, packed, members = made()
    bad = bytearray(packed)
    bad[3000] ^= 0xFF
    assert mend_bundle(bytes(bad), members, Mender()) != content


def test_nothing_is_tried_once_the_work_is_used_up() -> None:
    _, packed, members = made()
    bad = bytearray(packed)
    bad[3000] ^= 1
    assert mend_bundle(bytes(bad), members, Mender(work=1000)) is None


@pytest.mark.parametrize("at", [0, 1, 20, 32, 33, 36, 38, 40])
def test_a_row_with_a_wrong_bit_is_mended(at: int) -> None:
    data = b"content " * 20
    right = Member(b"b" * 32, 70_000, len(data)).row()

    def whole(row: bytes) -> bytes:
        return raw(data) if row == right else BUNDLED

    bad = bytearray(right)
    bad[at] ^= 8
    assert mend_row(oid_of(data), bytes(bad), whole) == data
    assert mend_row(oid_of(b"another"), bytes(bad), whole) is None
