"""A directory as bytes: there and back again, and nothing dangerous out of changed bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from other_pythons import examples
from rewind.errors import StoreDamaged
from rewind.snapshot.trees.tree import (
    CHUNKED,
    DIR,
    FILE,
    LINK,
    UNCOVERED,
    Tree,
    TreeEntry,
    decode_pieces,
    encode_pieces,
    unsafe_name,
    with_trees,
)

NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda n: b"/" not in n and b"\0" not in n and not unsafe_name(n))
MODES = st.integers(0, 0o7777)
SIZES = st.integers(0, 2**64 - 1)
IDS = st.binary(min_size=32, max_size=32)
TARGETS = st.binary(max_size=20).filter(lambda t: b"\0" not in t)
ENTRIES = st.one_of(st.builds(TreeEntry, st.sampled_from([FILE, CHUNKED, DIR]), MODES, SIZES, IDS),
                    st.builds(TreeEntry, st.sampled_from([LINK, UNCOVERED]), MODES, SIZES, TARGETS))
TREES = st.builds(Tree, st.dictionaries(NAMES, ENTRIES, max_size=6), st.sampled_from([b"", b"pins-only"]))
QUICK = settings(max_examples=examples(100), deadline=None)


def same(a: Tree, b: Tree) -> bool:
    return a.entries == b.entries and a.partial == b.partial


@QUICK
@given(TREES)
def test_what_is_encoded_is_decoded(tree: Tree) -> None:
    assert same(Tree.decode(tree.encode()), tree)


@QUICK
@given(TREES, TREES, st.sets(NAMES, max_size=3))
def test_the_names_that_differ_are_those_whose_entries_are_not_equal(
        a: Tree, b: Tree, common: set[bytes]) -> None:
    both = {name: TreeEntry(FILE, 0o644, 3, bytes(32)) for name in common}
    one, other = Tree({**a.entries, **both}), Tree({**b.entries, **both})
    names = {*one.entries, *other.entries}
    assert one.differing(other) == sorted(n for n in names if one.entries.get(n) != other.entries.get(n))
    assert one.differing(one) == []


@pytest.mark.parametrize("other", [
    TreeEntry(DIR, 0o644, 3, bytes(32)), TreeEntry(FILE, 0o755, 3, bytes(32)),
    TreeEntry(FILE, 0o644, 4, bytes(32)), TreeEntry(FILE, 0o644, 3, b"x" * 32)])
def test_one_field_is_enough_to_differ(other: TreeEntry) -> None:
    tree = Tree({b"same": other, b"name": TreeEntry(FILE, 0o644, 3, bytes(32))})
    assert tree.differing(Tree({b"same": other, b"name": other})) == [b"name"]


@QUICK
@given(st.dictionaries(NAMES, ENTRIES, max_size=6))
def test_equal_trees_have_equal_bytes_whatever_the_order(entries: dict[bytes, TreeEntry]) -> None:
    backwards = dict(reversed(list(entries.items())))
    assert Tree(entries).encode() == Tree(backwards).encode()


@QUICK
@given(TREES, st.data())
def test_other_trees_for_its_directories_make_the_listing_that_they_would_have_made(
        tree: Tree, data: st.DataObject) -> None:
    dirs = [name for name, entry in tree.entries.items() if entry.kind == DIR]
    others = data.draw(st.dictionaries(st.sampled_from(dirs), IDS)) if dirs else {}
    entries = {name: TreeEntry(DIR, entry.mode, entry.size, others[name]) if name in others else entry
               for name, entry in tree.entries.items()}
    assert with_trees(tree.encode(), others) == Tree(entries, tree.partial).encode()


@pytest.mark.parametrize("name", [b"file", b"nobody", b"target", b""])
def test_what_is_no_directory_of_the_listing_gets_no_tree(name: bytes) -> None:
    blob = Tree({b"file": TreeEntry(FILE, 0o644, 1, b"i" * 32),
                 b"link": TreeEntry(LINK, 0, 6, b"target")}).encode()
    with pytest.raises(StoreDamaged):
        with_trees(blob, {name: b"x" * 32})


@QUICK
@given(TREES, st.integers(0, 1 << 16), NAMES)
def test_a_listing_that_is_cut_short_is_refused_or_taken_over(tree: Tree, at: int, name: bytes) -> None:
    blob = tree.encode()
    try:
        assert len(with_trees(blob[:at % len(blob)], {name: b"x" * 32})) == at % len(blob)
    except StoreDamaged:
        pass


def check(blob: bytes) -> None:
    """Either it is refused, or every name in it is one that a directory may hold."""
    try:
        tree = Tree.decode(blob)
    except StoreDamaged:
        return
    for name, entry in tree.entries.items():
        assert name not in (b"", b".", b"..") and b"/" not in name and b"\0" not in name
        assert name.lower() != b".git"
        assert entry.kind in (FILE, CHUNKED, DIR, LINK, UNCOVERED) and 0 <= entry.mode <= 0o7777
        assert b"\0" not in entry.ref or entry.kind in (FILE, CHUNKED, DIR)
    assert same(Tree.decode(tree.encode()), tree)


@QUICK
@given(TREES, st.integers(0, 1 << 16), st.integers(0, 255), st.binary(max_size=4))
def test_changed_bytes_are_refused_or_harmless(tree: Tree, at: int, value: int, more: bytes) -> None:
    blob = tree.encode()
    at %= len(blob)
    check(blob[:at] + bytes([value]) + blob[at + 1:])
    check(blob[:at] + more + blob[at:])
    check(blob[:at])
    check(blob[at:])
    check(blob + more)


@QUICK
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_harmless(blob: bytes) -> None:
    check(blob)
    check(b"tree1 \n" + blob)


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/", b"../x", b".git", b".GIT", b"a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(name: bytes) -> None:
    record = struct.pack(">cHQ32s", FILE, 0o644, 1, bytes(32))
    with pytest.raises(StoreDamaged):
        Tree.decode(b"tree1 \n" + struct.pack(">I", 1) + record + name + b"\0")


def test_a_name_twice_or_out_of_order_is_refused() -> None:
    good = Tree({b"a": TreeEntry(FILE, 0, 0, bytes(32)), b"b": TreeEntry(FILE, 0, 0, bytes(32))}).encode()
    for names in (b"a\0a\0", b"b\0a\0"):
        with pytest.raises(StoreDamaged):
            Tree.decode(good.replace(b"a\0b\0", names))


def test_a_count_that_promises_too_much_is_refused_at_once() -> None:
    with pytest.raises(StoreDamaged):
        Tree.decode(b"tree1 \n" + struct.pack(">I", 0xFFFFFFFF))


@QUICK
@given(st.lists(st.tuples(SIZES, IDS), max_size=5))
def test_a_list_of_chunks_comes_back(pieces: list[tuple[int, bytes]]) -> None:
    assert decode_pieces(encode_pieces(pieces)) == pieces
    if pieces:
        with pytest.raises(StoreDamaged):
            decode_pieces(encode_pieces(pieces)[:-1])


def test_entries_are_equal_when_restoring_them_gives_the_same() -> None:
    entry = TreeEntry(FILE, 0o644, 3, b"x" * 32)
    same, other = TreeEntry(FILE, 0o644, 3, b"x" * 32), TreeEntry(FILE, 0o755, 3, b"x" * 32)
    assert entry == same and hash(entry) == hash(same)
    assert entry != other and entry.same_content(other)
    assert entry != TreeEntry(CHUNKED, 0o644, 3, b"x" * 32) and entry != "something else"


def test_an_entry_is_shown_with_its_target_or_the_start_of_its_id() -> None:
    assert repr(TreeEntry(FILE, 0o644, 3, b"\xab" * 32)) == "TreeEntry(f 644 3 'abababab')"
    assert repr(TreeEntry(LINK, 0, 5, b"there")) == "TreeEntry(l 0 5 b'there')"
