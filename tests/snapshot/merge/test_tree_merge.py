"""Three trees merged path by path, in memory: what git has no notion of, and what must not be touched."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from rewind.snapshot.merge.tree_merge import MODES, Side, TreeMerge, file_entry
from rewind.snapshot.trees.change import Paths
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import CHUNKED, DIR, FILE, LINK, UNCOVERED, Tree, TreeEntry, decode_pieces
from rewind.store.blobs import CHUNK, oid_of

# A tree as a test writes it: text is a file, (mode, text) one with a mode, bytes is a link, a dictionary is a
# directory, and a list names the reason why something was not captured.
Shape = dict[str, Any]


class Store:
    def __init__(self) -> None:
        self.blobs: dict[bytes, bytes] = {}

    def put(self, data: bytes) -> bytes:
        self.blobs[oid_of(data)] = data
        return oid_of(data)

    def tree(self, oid: bytes) -> Tree:
        return Tree.decode(self.blobs[oid])

    def read(self, path: bytes, entry: TreeEntry) -> Optional[bytes]:
        return self.blobs[entry.ref]

    def side(self, shape: Shape) -> Side:
        return Side(self.add(shape), self.tree, self.read)

    def add(self, shape: Shape) -> bytes:
        partial = shape.get("", "")
        entries = {name.encode(): self._entry(what) for name, what in shape.items() if name}
        return self.put(Tree(entries, partial.encode()).encode())

    def _entry(self, what: Any) -> TreeEntry:
        if isinstance(what, dict):
            rest = {k: v for k, v in what.items() if k != "/"}
            return TreeEntry(DIR, what.get("/", 0o755), 0, self.add(rest))
        if isinstance(what, list):
            return TreeEntry(UNCOVERED, 0, 0, what[0].encode())
        if isinstance(what, bytes):
            return TreeEntry(LINK, 0, len(what), what)
        mode, text = what if isinstance(what, tuple) else (0o644, what)
        return file_entry(text.encode(), mode, self.put)

    def shape(self, root: bytes) -> dict[str, Any]:
        """Path -> what is there."""
        return {path.decode(): self._what(entry) for path, entry in every_path(root, self.tree)}

    def _what(self, entry: TreeEntry) -> Any:
        if entry.kind == DIR:
            return oct(entry.mode)
        if entry.kind in (LINK, UNCOVERED):
            return entry.ref if entry.kind == LINK else [entry.ref.decode()]
        text = self.blobs[entry.ref].decode()
        return text if entry.mode == 0o644 else (entry.mode, text)


class Done:
    def __init__(self, base: Shape, ours: Shape, theirs: Shape, **more: Any) -> None:
        store = Store()
        work = TreeMerge(store.side(base), store.side(ours), store.side(theirs), store.put, **more)
        self.files = store.shape(work.root())
        self.conflicts = {one.path.decode(): one.reason for one in work.conflicts}
        self.unknown = dict(work.unknown)


def test_an_empty_directory_comes_and_goes() -> None:
    assert Done({}, {"a": "x"}, {"new": {}}).files == {"a": "x", "new": "0o755"}
    assert Done({"old": {}}, {"old": {}, "a": "x"}, {}).files == {"a": "x"}
    assert Done({"old": {}}, {"old": {"kept": "x"}}, {}).files == {"old": "0o755", "old/kept": "x"}


def test_a_directory_that_was_there_before_stays_when_it_becomes_empty() -> None:
    assert Done({"d": {"x": "1"}}, {"d": {"x": "1"}}, {"d": {}}).files == {"d": "0o755"}


def test_the_mode_of_a_directory_is_no_reason_for_a_conflict() -> None:
    base, theirs = {"d": {"/": 0o755, "x": "1"}}, {"d": {"/": 0o700, "x": "1"}}
    assert Done(base, base, theirs).files["d"] == "0o700"
    done = Done(base, {"d": {"/": 0o750, "x": "1"}}, theirs)
    assert done.files["d"] == "0o750" and not done.conflicts


def test_modes_of_files_merge_as_values() -> None:
    done = Done({"x": "1\n"}, {"x": "1\n2\n"}, {"x": (0o755, "1\n")})
    assert done.files == {"x": (0o755, "1\n2\n")} and not done.conflicts
    done = Done({"x": "1"}, {"x": (0o600, "1")}, {"x": (0o755, "1")})
    assert done.conflicts == {"x": MODES} and done.files == {"x": (0o600, "1")}
    assert Done({"x": "1"}, {"x": (0o600, "1")}, {"x": (0o755, "1")}, how="theirs").files == {
        "x": (0o755, "1")}


def test_links_are_values() -> None:
    assert Done({"x": b"a"}, {"x": b"a"}, {"x": b"b"}).files == {"x": b"b"}
    assert Done({"x": b"a"}, {"x": b"c"}, {"x": b"b"}).conflicts == {"x": "both-changed-link"}
    assert Done({"x": b"a"}, {"x": "text"}, {"x": b"b"}).conflicts == {"x": "both-changed-kind"}


@pytest.mark.parametrize("how", ["", "markers", "ours", "theirs"])
def test_a_file_that_changed_and_became_a_directory_is_one_conflict(how: str) -> None:
    store = Store()
    base, ours, theirs = store.side({"x": "1"}), store.side({"x": "mine"}), store.side({"x": {"in": "2"}})
    work = TreeMerge(base, ours, theirs, store.put, how=how)
    files = store.shape(work.root())
    assert [conflict.path for conflict in (*work.conflicts, *work.settled)] == [b"x"]
    assert files == ({"x": "0o755", "x/in": "2"} if how == "theirs" else {"x": "mine"})


def test_nothing_but_the_named_paths_changes() -> None:
    base = {"d": {"x": "1", "y": "1"}, "e": "1"}
    theirs = {"d": {"x": "2", "y": "2"}, "e": "2"}
    done = Done(base, base, theirs, paths=Paths([b"d/x"]))
    assert done.files == {"d": "0o755", "d/x": "2", "d/y": "1", "e": "1"}
    made = Done({"d": {"x": "1"}}, {"d": {"x": "1"}}, {}, paths=Paths([b"d/x"]))
    assert made.files == {}, "the directory was made for it"


def test_a_path_in_conflict_already_is_left_alone() -> None:
    done = Done({"x": "1", "y": "1"}, {"x": "2", "y": "1"}, {"x": "3", "y": "3"}, frozen=frozenset([b"x"]))
    assert done.files == {"x": "2", "y": "3"} and not done.conflicts


def test_what_was_never_captured_is_nobodys_change() -> None:
    done = Done({"node_modules": ["skip-list"]}, {"node_modules": ["skip-list"], "a": "1"}, {})
    assert done.files == {"node_modules": ["skip-list"], "a": "1"} and not done.conflicts
    assert done.unknown == {b"node_modules": "skip-list"}
    assert Done({"big": ["too-large"]}, {}, {}).unknown == {}, "it is gone by now"


@pytest.mark.parametrize("how, found", [("", {"big": ["too-large"]}), ("ours", {"big": ["too-large"]}),
                                        ("theirs", {"big": "small"})])
def test_a_file_that_grew_too_large_is_a_conflict(how: str, found: Shape) -> None:
    done = Done({"big": ["too-large"]}, {"big": ["too-large"]}, {"big": "small"}, how=how)
    assert done.files == found and bool(done.conflicts) == (not how)


def test_where_only_a_part_is_known_the_rest_is_asked_for() -> None:
    """Theirs first, so that the caller looks there; once it has, what is not there was deleted."""
    base, ours, theirs = {"d": {"x": "1"}}, {"d": {"": "pins-only", "pin": "p"}}, {"d": {"x": "2"}}
    assert Done(base, ours, theirs).files["d/x"] == "2"
    assert Done(base, ours, theirs, looked_for=frozenset([b"d/x"])).conflicts == {"d/x": "deleted-since"}


def test_what_a_partial_tree_does_not_tell_is_no_change() -> None:
    done = Done({"d": {"": "pins-only"}}, {"d": {"x": "1"}}, {"d": {"x": "1"}})
    assert done.files == {"d": "0o755", "d/x": "1"} and not done.conflicts


def test_a_long_result_is_stored_as_a_scan_would() -> None:
    store = Store()
    entry = file_entry(b"x" * (CHUNK + 5), 0o644, store.put)
    assert entry.kind == CHUNKED and entry.size == CHUNK + 5
    assert [size for size, _ in decode_pieces(store.blobs[entry.ref])] == [CHUNK, 5]
    assert file_entry(b"x" * CHUNK, 0o644, store.put).kind == FILE
