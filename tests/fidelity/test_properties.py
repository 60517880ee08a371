"""For arbitrary trees and arbitrary damage: capture, then restore, gives the same tree.

In process, through the same door as every user interface, so that many trees can be tried.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, Union

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from on_disk import disk_for
from other_pythons import examples
from rewind.controller import AtCheckpoint, Controller
from rewind_cli import Tree, clean_env, differences, tree_state

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("REWIND_EXAMPLES") or examples(40))
# Making a failing example small takes minutes: only when asked for, with REWIND_EXAMPLES.
_PHASES = list(Phase) if "REWIND_EXAMPLES" in os.environ else [Phase.generate]
QUIET = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
                 phases=_PHASES, suppress_health_check=list(HealthCheck))

# Few names, so that two trees meet at the same paths; odd ones among them.
_POOL = [b"a", b"b", b"c", b"A", b"-", b"--", b"a b", b"\n", b":", b"...", b"~", b"\xff", b"\xc3\xa9",
         b"a.db", b"a.db-wal", b"a.db-journal", b"*", b"\\", b"x" * 255]
_FORBIDDEN = {b".", b"..", b".git", b".agent", b".gitignore", b".rewindignore"}

Node = Union["tuple[str, int, bytes]", "tuple[str, bytes]", "tuple[str, int, dict[bytes, Any]]"]


def _usable(name: bytes) -> bool:
    return (name.lower() not in _FORBIDDEN and b"/" not in name and b"\0" not in name
            and not name.startswith(b".rewind-tmp-"))


_any_name = st.binary(min_size=1, max_size=12).filter(_usable)
if sys.platform == "darwin":
    names: st.SearchStrategy[bytes] = st.sampled_from(_POOL[:11])
else:
    names = st.one_of(st.sampled_from(_POOL), st.sampled_from(_POOL), _any_name)
contents = st.one_of(st.binary(max_size=40), st.just(b""), st.integers(1, 9).map(lambda n: b"%d" % n * 5000))
file_modes = st.integers(0, 0o7777).map(lambda mode: mode | 0o400)
dir_modes = st.integers(0, 0o7777).map(lambda mode: mode | 0o500)
targets = st.one_of(names, names.map(lambda n: b"../" + n), st.just(b"/nowhere"), st.just(b"."))
files = st.tuples(st.just("file"), file_modes, contents)
links = st.tuples(st.just("link"), targets)
nodes: st.SearchStrategy[Any] = st.recursive(
    st.one_of(files, files, links),
    lambda below: st.tuples(st.just("dir"), dir_modes, st.dictionaries(names, below, max_size=5)),
    max_leaves=12)
trees = st.dictionaries(names, nodes, max_size=7)


# from the description to the disk

def grow(folder: bytes, tree: dict[bytes, Any]) -> None:
    for name, node in tree.items():
        path = os.path.join(folder, name)
        remove(path)
        if node[0] == "link":
            os.symlink(node[1], path)
        elif node[0] == "file":
            with open(path, "wb") as file:
                file.write(node[2])
            os.chmod(path, node[1])
        else:
            os.mkdir(path)
            grow(path, node[2])
            os.chmod(path, node[1])


def remove(path: bytes) -> None:
    if not os.path.lexists(path):
        return
    if stat.S_ISDIR(os.lstat(path).st_mode):
        open_up(path)
        shutil.rmtree(path)
    else:
        os.unlink(path)


def open_up(folder: bytes) -> None:
    os.chmod(folder, 0o700)
    for at, dirs, _ in os.walk(folder):
        for name in dirs:
            path = os.path.join(at, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


def damage(root: bytes, other: dict[bytes, Any], chance: Random) -> None:
    """Lay another tree over this one, here and there also below, and let some names go."""
    _mix(root, other, chance)


def _mix(folder: bytes, other: dict[bytes, Any], chance: Random) -> None:
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    os.chmod(folder, 0o700)
    for name in sorted(set(os.listdir(folder)) - {b".agent"}):
        path = os.path.join(folder, name)
        node = other.get(name)
        is_dir = stat.S_ISDIR(os.lstat(path).st_mode)
        if node is not None and node[0] == "dir" and is_dir and chance.random() < 0.7:
            _mix(path, node[2], chance)
        elif node is not None or chance.random() < 0.3:
            remove(path)
        elif is_dir and chance.random() < 0.5:
            _mix(path, {}, chance)
    grow(folder, {n: node for n, node in other.items()
                  if not os.path.lexists(os.path.join(folder, n))})
    os.chmod(folder, mode)


class Place:
    """A project in a directory of its own, opened in this process."""

    def __init__(self) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="rewind-test-", dir=disk_for("fidelity"))).resolve()
        (self.top / "home").mkdir()
        (self.top / "project").mkdir()
        self.before, wanted = dict(os.environ), clean_env(self.top / "home")
        os.environ.clear()
        os.environ.update(wanted)
        self.root = os.fsencode(self.top / "project")

    def open(self) -> Controller:
        self.controller, _ = Controller.init(os.fsdecode(self.root))
        return self.controller

    def tree(self) -> Tree:
        return tree_state(self.root)

    def close(self) -> None:
        os.environ.clear()
        os.environ.update(self.before)
        self.controller.close()
        open_up(os.fsencode(self.top))
        shutil.rmtree(self.top)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_empty_plan(controller: Controller, name: str) -> None:
    plan = controller.plan(AtCheckpoint(name)).code
    assert plan and (plan.written, plan.deleted) == ([], [])


@pytest.mark.longest
@QUIET
@given(trees, trees, st.randoms(use_true_random=False))
def test_capture_then_restore_gives_the_same_tree(
        first: dict[bytes, Any], second: dict[bytes, Any], chance: Random) -> None:
    with Place() as place:
        grow(place.root, first)
        controller = place.open()
        name = controller.save("then").record.name
        then = place.tree()
        check_empty_plan(controller, name)
        damage(place.root, second, chance)
        now = place.tree()
        restored = controller.restore(name)
        assert differences(then, place.tree()) == {}
        assert restored.complete
        check_empty_plan(controller, name)
        if now != then:
            controller.undo_restore()
            assert differences(now, place.tree()) == {}


@QUIET
@given(trees, trees)
def test_a_checkpoint_written_elsewhere_is_the_same_tree(
        first: dict[bytes, Any], second: dict[bytes, Any]) -> None:
    with Place() as place:
        grow(place.root, first)
        controller = place.open()
        name = controller.save("then").record.name
        then = place.tree()
        damage(place.root, second, Random(1))
        controller.write_to(name, str(place.top / "elsewhere"))
        assert differences(then, tree_state(place.top / "elsewhere")) == {}


@QUIET
@given(trees, trees, st.randoms(use_true_random=False))
def test_saving_twice_without_a_change_makes_the_same_checkpoint(
        first: dict[bytes, Any], second: dict[bytes, Any], chance: Random) -> None:
    """Also when the second save trusts the signatures of the first, and after a change and back."""
    with Place() as place:
        grow(place.root, first)
        controller = place.open()
        one = controller.save("one").record
        assert controller.save("two", if_changed=True).created is False
        damage(place.root, second, chance)
        changed = place.tree()
        two = controller.save("three", if_changed=True).record
        controller.restore(one.name)
        assert controller.save("four").record.tree == one.tree
        controller.restore(two.name)
        assert differences(changed, place.tree()) == {}


class Life(RuleBasedStateMachine):
    """Any order of work, checkpoints, restores and their undoing, against a model in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Place()
        self.saved: dict[str, Tree] = {}
        self.befores: list[Tree] = []

    @initialize(tree=trees)
    def begin(self, tree: dict[bytes, Any]) -> None:
        grow(self.place.root, tree)
        self.place.open()
        self.save()

    @rule()
    def save(self) -> None:
        self.saved[self.place.controller.save("").record.name] = self.place.tree()

    @rule(tree=trees, seed=st.integers(0, 1000))
    def work(self, tree: dict[bytes, Any], seed: int) -> None:
        damage(self.place.root, tree, Random(seed))

    @rule(choice=st.integers(0, 1000))
    def restore(self, choice: int) -> None:
        name = sorted(self.saved)[choice % len(self.saved)]
        self._step(lambda: self.place.controller.restore(name))
        assert differences(self.saved[name], self.place.tree()) == {}
        check_empty_plan(self.place.controller, name)

    @precondition(lambda self: self.befores)
    @rule()
    def undo_restore(self) -> None:
        self.place.controller.undo_restore()
        assert differences(self.befores.pop(), self.place.tree()) == {}

    @precondition(lambda self: self.befores)
    @rule()
    def undo_restore_and_redo(self) -> None:
        was = self.place.tree()
        before = self.befores[-1]
        self.undo_restore()
        if was != before and self.place.controller.to_redo():
            self._step(self.place.controller.redo)
            assert differences(was, self.place.tree()) == {}

    @rule(keep=st.integers(1, 4))
    def collect(self, keep: int) -> None:
        self.place.controller.gc(keep)
        left = {r.name for r in self.place.controller.list_checkpoints()}
        assert set(list(self.saved)[-keep:]) <= left
        self.saved = {name: tree for name, tree in self.saved.items() if name in left}
        assert self.place.controller.validate(deep=True) == []

    def _step(self, action: Any) -> None:
        before, steps = self.place.tree(), len(self._steps())
        action()
        note(f"steps {steps} -> {len(self._steps())}")
        if len(self._steps()) > steps:
            self.befores.append(before)
        else:
            assert self.place.tree() == before, "a change that the history does not know"

    def _steps(self) -> list[Any]:
        return [op for op in self.place.controller.operations() if op.can_undo]

    def teardown(self) -> None:
        self.place.close()


TestLife = Life.TestCase
TestLife.settings = settings(QUIET, max_examples=max(10, EXAMPLES // 3), stateful_step_count=15)
