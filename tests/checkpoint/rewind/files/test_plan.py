"""The plan of a restore, from made-up trees: no disk, every decision."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.checkpoint.rewind.files.file_plan import RestorePlan, RestorePlanner
from rewind.errors import StoreDamaged
from rewind.snapshot.trees.change import Paths
from rewind.snapshot.trees.tree import DIR, FILE, LINK, UNCOVERED, Tree, TreeEntry
from rewind.store.blobs import oid_of

Spec = dict[str, Any]  # name -> text, ("link", target), ("unknown", reason), ("mode", mode, text) or a Spec
PARTIAL = "<partial>"
KNOWN: dict[bytes, Tree] = {}


def make(spec: Spec) -> bytes:
    """The id of a tree like this; a directory's mode is 755, a file's 644."""
    entries = {}
    for name, value in spec.items():
        if name != PARTIAL:
            entries[name.encode()] = entry_of(value)
    tree = Tree(entries, b"pins-only" if PARTIAL in spec else b"")
    oid = oid_of(tree.encode())
    KNOWN[oid] = tree
    return oid


def entry_of(value: Any) -> TreeEntry:
    if isinstance(value, dict):
        return TreeEntry(DIR, 0o755, 0, make(value))
    if isinstance(value, str):
        value = ("mode", 0o644, value)
    if value[0] == "mode":
        if isinstance(value[2], dict):
            return TreeEntry(DIR, value[1], 0, make(value[2]))
        return TreeEntry(FILE, value[1], len(value[2]), oid_of(value[2].encode()))
    kind = {"link": LINK, "unknown": UNCOVERED}[value[0]]
    return TreeEntry(kind, 0, 0, value[1].encode())


def plan(then: Spec, now: Spec, *, ignored: tuple[str, ...] = (), paths: Optional[list[bytes]] = None,
         hidden: tuple[bytes, ...] = (), most: int = 1000) -> RestorePlan:
    def skipped(path: bytes, present: TreeEntry, ruled_as: bytes) -> bool:
        return any(ruled_as == p.encode() or ruled_as.startswith(p.encode() + b"/") for p in ignored)

    planner = RestorePlanner("c1", KNOWN.__getitem__, KNOWN.__getitem__, skipped, Paths(paths),
                             hidden=frozenset(hidden), most=most)
    return planner.plan_from(make(then), make(now))


def steps(found: RestorePlan) -> list[str]:
    return [f"{c.action} {c.path.decode()}" for c in found.changes]


def kept(found: RestorePlan) -> dict[str, str]:
    return {k.path.decode(): k.reason for k in found.kept}


def test_another_place_is_told_even_where_both_trees_have_it_alike() -> None:
    tree = make({"tree": {"a": "1"}, "b": "2"})
    found = RestorePlanner("c1", KNOWN.__getitem__, KNOWN.__getitem__, lambda *one: False, Paths(),
                           places=frozenset([b"tree"])).plan_from(tree, tree)
    assert kept(found) == {"tree": "another-place"} and not found.changes


def test_equal_trees_need_nothing() -> None:
    tree = {"a": "1", "d": {"b": "2", "e": {}}, "l": ("link", "a")}
    assert plan(tree, tree).empty


@pytest.mark.parametrize("then, now, expected", [
    ({"a": "1"}, {}, ["write a"]),
    ({}, {"a": "1"}, ["delete a"]),
    ({"a": "1"}, {"a": "2"}, ["write a"]),
    ({"a": ("mode", 0o755, "1")}, {"a": "1"}, ["chmod a"]),
    ({"a": ("link", "x")}, {"a": ("link", "y")}, ["write a"]),
    ({"a": ("link", "x")}, {"a": "x"}, ["write a"]),
    ({"d": {}}, {}, ["mkdir d"]),
    ({}, {"d": {}}, ["rmdir d"]),
    ({"d": {"a": "1"}}, {}, ["mkdir d", "write d/a"]),
    ({}, {"d": {"a": "1"}}, ["delete d/a", "rmdir d"]),
    ({"d": ("mode", 0o700, {})}, {"d": {}}, ["chmod d"]),
    ({"x": {"a": "1"}}, {"x": "file"}, ["delete x", "mkdir x", "write x/a"]),
    ({"x": "file"}, {"x": {"a": "1"}}, ["delete x/a", "rmdir x", "write x"]),
    ({"x": ("link", "t")}, {"x": {}}, ["rmdir x", "write x"]),
])
def test_what_differs_is_planned(then: Spec, now: Spec, expected: list[str]) -> None:
    assert steps(plan(then, now)) == expected


def test_what_stands_in_the_way_is_marked() -> None:
    changes = plan({"x": {"a": "1"}}, {"x": "f"}).changes
    assert [c.in_the_way for c in changes] == [True, False, False]
    assert [c.in_the_way for c in plan({"x": "f"}, {"x": {"a": "1"}}).changes] == [True, True, False]


# what is left alone

def test_an_ignored_newcomer_is_kept() -> None:
    found = plan({}, {"a.log": "1", "d": {"b.log": "2", "c": "3"}}, ignored=("a.log", "d/b.log"))
    assert steps(found) == ["delete d/c"]
    assert kept(found) == {"a.log": "ignored", "d/b.log": "ignored"} and not found.conflicts


def test_what_was_there_but_not_captured_is_left_as_it_is() -> None:
    then = {"big": ("unknown", "too-large"), "dir": ("unknown", "skip-list")}
    assert plan(then, {"big": "small now", "dir": {"a": "1"}}).empty
    assert plan(then, {}).empty


def test_what_is_there_but_not_captured_now_is_never_deleted() -> None:
    found = plan({}, {"big": ("unknown", "too-large"), "d": {"x": ("unknown", "ignored"), "y": "1"}})
    assert steps(found) == ["delete d/y"] and kept(found) == {"big": "too-large", "d/x": "ignored"}


@pytest.mark.parametrize("reason", ["skip-list", "ignored", "ignored-large", "too-large", "pins-only"])
def test_what_the_rules_hide_now_must_be_captured_before_it_is_overwritten(reason: str) -> None:
    found = plan({"a": "1", "d": {"b": "2", "u": ("unknown", "x")}},
                 {"a": ("unknown", reason), "d": ("unknown", reason)})
    assert found.unknown == [b"a", b"d", b"d/b"] and found.changes == []


@pytest.mark.parametrize("reason", ["unreadable", "special", "too-deep"])
def test_what_cannot_be_captured_is_a_conflict(reason: str) -> None:
    found = plan({"a": "1"}, {"a": ("unknown", reason)})
    assert found.changes == [] and [k.path for k in found.conflicts] == [b"a"] and not found.empty


def test_in_a_directory_of_which_only_pins_are_known_nothing_is_deleted() -> None:
    then = {"d": {PARTIAL: "", "pin": "1"}}
    assert steps(plan(then, {"d": {"pin": "2", "other": "3"}})) == ["write d/pin"]
    found = plan({"d": {"pin": "1", "gone": "2"}}, {"d": {PARTIAL: "", "pin": "3"}})
    assert steps(found) == ["write d/pin"] and found.unknown == [b"d/gone"]
    assert kept(found) == {"d": "pins-only"}


def test_a_directory_with_something_to_keep_does_not_make_room_for_a_file() -> None:
    found = plan({"x": "file", "y": "1"}, {"x": {"a": "1", "k": ("unknown", "ignored")}, "y": "2"})
    assert steps(found) == ["write y"]
    assert [(k.path, k.reason) for k in found.conflicts] == [(b"x", "in-the-way")]


# databases

def test_a_newer_journal_goes_with_its_database_even_if_ignored() -> None:
    found = plan({"app.db": "old"}, {"app.db": "new", "app.db-wal": "w", "app.db-shm": "s"},
                 ignored=("app.db-wal", "app.db-shm"))
    assert sorted(steps(found)) == ["delete app.db-shm", "delete app.db-wal", "write app.db"]


def test_an_ignored_new_database_keeps_its_journal() -> None:
    found = plan({}, {"app.db": "new", "app.db-wal": "w"}, ignored=("app.db",))
    assert found.changes == [] and kept(found) == {"app.db": "ignored", "app.db-wal": "ignored"}


def test_the_journal_of_a_database_that_was_not_captured_stays() -> None:
    assert plan({"app.db": ("unknown", "too-large")}, {"app.db": "x", "app.db-wal": "w"}).empty


# some paths only

def test_only_the_named_paths_are_planned() -> None:
    then, now = {"a": "1", "d": {"b": "2", "c": "3"}, "e": "4"}, {"a": "x", "d": {"b": "y", "n": "z"}}
    assert steps(plan(then, now, paths=[b"a"])) == ["write a"]
    assert steps(plan(then, now, paths=[b"d/b", b"e"])) == ["write d/b", "write e"]
    assert sorted(steps(plan(then, now, paths=[b"d/"]))) == ["delete d/n", "write d/b", "write d/c"]
    assert steps(plan(then, now, paths=[b"."])) == steps(plan(then, now))


def test_directories_on_the_way_to_a_named_path_are_made_but_not_changed() -> None:
    then: Spec = {"d": ("mode", 0o700, {"e": {"a": "1", "b": "2"}})}
    assert steps(plan(then, {}, paths=[b"d/e/a"])) == ["mkdir d", "mkdir d/e", "write d/e/a"]
    assert steps(plan(then, {"d": {"e": {}}}, paths=[b"d/e/a"])) == ["write d/e/a"]


def test_a_file_in_the_place_of_a_directory_on_the_way_is_not_deleted_unasked() -> None:
    found = plan({"d": {"a": "1"}}, {"d": "a file that nobody named"}, paths=[b"d/a"])
    assert "delete d" not in steps(found)


# what cannot be right

def test_our_own_state_is_never_written_or_deleted() -> None:
    ours: Spec = {".agent": {"rewind": "x"}}
    for then, now in ((ours, {".agent": {}}), ({".agent": {}}, ours)):
        with pytest.raises(StoreDamaged, match="own state"):
            plan(then, now, hidden=(b".agent/rewind",))


def test_a_few_objects_that_stand_for_a_million_files_are_refused() -> None:
    oid = make({"f": "1"})
    for _ in range(20):
        tree = Tree({b"a": TreeEntry(DIR, 0o755, 0, oid), b"b": TreeEntry(DIR, 0o755, 0, oid)})
        oid = oid_of(tree.encode())
        KNOWN[oid] = tree
    with pytest.raises(StoreDamaged, match="number of paths"):
        RestorePlanner("c1", KNOWN.__getitem__, KNOWN.__getitem__, lambda *one: False, Paths(),
                       most=500).plan_from(oid, make({}))


def test_a_tree_that_holds_itself_is_refused() -> None:
    loop = b"L" * 32
    KNOWN[loop] = Tree({b"d": TreeEntry(DIR, 0o755, 0, loop)})
    with pytest.raises(StoreDamaged):
        RestorePlanner("c1", KNOWN.__getitem__, KNOWN.__getitem__, lambda path, entry, ruled_as: False,
                       Paths()).plan_from(loop, make({}))


# any two trees

VALUES = st.sampled_from(["1", "2", ("link", "x"), ("mode", 0o755, "1")])
SPECS = st.recursive(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
                     lambda inner: st.dictionaries(st.sampled_from("abc"), VALUES | inner, max_size=3),
                     max_leaves=8)


def flat(spec: Spec, folder: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in spec.items():
        found[folder + name] = {} if isinstance(value, dict) else value
        if isinstance(value, dict):
            found.update(flat(value, folder + name + "/"))
    return found


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(SPECS, SPECS)
def test_the_plan_names_every_path_that_differs_and_no_other(then: Spec, now: Spec) -> None:
    found = plan(then, now)
    before, after = flat(then), flat(now)
    assert set(found.written) == {p.encode() for p in before if before[p] != after.get(p)}
    assert set(found.deleted) == {p.encode() for p in after if p not in before}
    assert not found.kept and not found.unknown
