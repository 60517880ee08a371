"""What going back and forth must do, in the simplest words that can be run: no disk, no program.

Written from `docs/history.md` alone. Names of checkpoints, operations and forks come from outside.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import Optional

# A path and its content; None is a directory. Every directory stands in it, empty or not.
Tree = dict[str, Optional[bytes]]

STEPS = ("restore", "back", "undo", "forks-rename", "forks-delete", "forks-undelete")
KEPT_STEPS = 20


def parents(path: str) -> list[str]:
    """`a/b/c`: itself and every directory above it."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]


def under(path: str, names: frozenset[str]) -> bool:
    return any(p in names for p in parents(path))


def files(tree: Tree) -> dict[str, bytes]:
    return {path: data for path, data in tree.items() if data is not None}


# what is captured

@dataclass(frozen=True)
class Rules:
    """The lines of the two ignore files at the top: `name/` is a directory, `*.log` are files."""

    git: frozenset[str] = frozenset()
    rewind: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: Tree) -> Rules:
        def lines(name: str) -> frozenset[str]:
            return frozenset((tree.get(name) or b"").decode().split())

        return cls(lines(".gitignore"), lines(".rewindignore"))

    def git_ignores(self, path: str, tree: Tree) -> bool:
        return _matches(self.git, path, tree)

    def ignores(self, path: str, tree: Tree) -> bool:
        return self.git_ignores(path, tree) or _matches(self.rewind, path, tree)


def _matches(lines: frozenset[str], path: str, tree: Tree) -> bool:
    for name in parents(path):
        last = posixpath.basename(name)
        if tree.get(name, b"") is None:
            if last + "/" in lines:
                return True
        elif any(line.startswith("*") and last.endswith(line[1:]) for line in lines):
            return True
    return False


@dataclass(frozen=True)
class Snapshot:
    captured: Tree
    uncovered: frozenset[str]
    rules: Rules

    def same_tree(self, other: Snapshot) -> bool:
        return self.captured == other.captured and self.uncovered == other.uncovered

    def has_entry(self, path: str) -> bool:
        return path in self.captured or under(path, self.uncovered)


def scan(tree: Tree, most: int) -> Snapshot:
    """An ignored directory is captured with at most so many files in it; an ignored file is small here."""
    rules = Rules.of(tree)
    captured: Tree = {}
    uncovered: set[str] = set()
    for path in sorted(tree):
        if under(path, frozenset(uncovered)):
            continue
        if _matches(rules.rewind, path, tree) or (
                tree[path] is None and rules.git_ignores(path, tree)
                and sum(1 for p in files(tree) if p.startswith(path + "/")) > most):
            uncovered.add(path)
        else:
            captured[path] = tree[path]
    return Snapshot(captured, frozenset(uncovered), rules)


# what a restore does

@dataclass(frozen=True)
class Plan:
    before: Tree
    after: Tree
    kept: frozenset[str]
    brought: Tree  # by what is taken back
    looked_at: frozenset[str]  # had to be compared with something recorded, whatever the rules say

    @property
    def changes(self) -> bool:
        return self.before != self.after

    @property
    def written(self) -> set[str]:
        return {p for p, data in files(self.after).items() if self.before.get(p) != data}

    @property
    def folders(self) -> set[str]:
        """Directories that come or go."""
        return {p for p in {*self.before, *self.after} if (p in self.before) != (p in self.after)
                and self.before.get(p) is None and self.after.get(p) is None}

    @property
    def deleted(self) -> set[str]:
        return {p for p in files(self.before) if p not in self.after}

    @property
    def touched(self) -> set[str]:
        return self.written | self.deleted | self.folders


def plan(to: Snapshot, tree: Tree, left_alone: frozenset[str], paths: Optional[frozenset[str]] = None,
         brought: Optional[Tree] = None) -> Plan:
    """Everything recorded is there again. A newcomer goes unless something says that it must be left alone;
    but what the operation that is taken back has brought goes again, ignored or not."""
    brought = brought or {}
    now = Rules.of(tree)
    after = dict(tree)
    kept = set()
    for path in sorted(tree, reverse=True):  # what is in a directory comes before it
        if (paths is not None and not under(path, paths)) or path in to.captured:
            continue
        came = path in brought and brought[path] == tree[path]
        if under(path, to.uncovered) or (not came and (
                under(path, left_alone) or now.ignores(path, tree)
                or to.rules.ignores(path, {**tree, **to.captured}))):
            kept.add(path)
        elif tree[path] is not None or not any(p.startswith(path + "/") for p in after):
            del after[path]
    for path in files(tree):
        for above in parents(path)[1:] if path not in after else ():  # directories that became empty
            if above not in to.captured and not any(p.startswith(above + "/") for p in after):
                after.pop(above, None)
    for path, data in sorted(to.captured.items()):
        if paths is None or under(path, paths):
            for above in parents(path)[1:]:
                after[above] = None
            after[path] = data
    # Of a directory that is kept as a whole, its name says it.
    looked_at = frozenset(p for p in files(tree) if (p in to.captured or p in brought)
                          and (paths is None or under(p, paths)))
    return Plan(tree, after, frozenset(p for p in kept if not under(posixpath.dirname(p), frozenset(kept))),
                brought, looked_at)


# history

@dataclass
class Checkpoint:
    name: str
    parent: Optional[str]
    snapshot: Snapshot
    backup: bool = False


@dataclass
class Fork:
    """A conversation: the texts of its prompts. `made_with` of them were there when it was made."""

    prompts: list[str]
    made_with: int
    trashed: bool = False
    name: Optional[str] = None

    @property
    def continued(self) -> bool:
        return len(self.prompts) > self.made_with


@dataclass
class Effect:
    """What happened to a fork: it was `made`, `named`, `deleted` or `undeleted`."""

    what: str
    fork: str
    old: Optional[str] = None
    new: Optional[str] = None


@dataclass
class Operation:
    id: str
    command: str
    before: Optional[str] = None  # the checkpoint that has what was there
    here: Optional[str] = None  # after it
    code: bool = True
    paths: Optional[frozenset[str]] = None
    effects: list[Effect] = field(default_factory=list)
    undone: bool = False
    undoes: list[str] = field(default_factory=list)
    redoes: str = ""
    taken_back: bool = False  # an undo-restore that was redone
    can_redo: bool = False
    interrupted: bool = False
    half_done: bool = False  # it was killed, whatever came after
    to: Optional[str] = None  # where it leads, for the same command again

    @property
    def step(self) -> bool:
        return self.command in STEPS

    @property
    def redoable(self) -> bool:
        return self.can_redo and not self.undone and not self.taken_back

    @property
    def open(self) -> bool:
        """Can be undone. An interrupted undo-restore is finished by the next one instead."""
        return not self.undone and (self.step or (self.interrupted and self.command == "redo"))


@dataclass(frozen=True)
class Way:
    """Where a command would lead: a checkpoint, or no code at all, and what happens to the files."""

    checkpoint: Optional[str]
    plan: Optional[Plan]
    steps: tuple[str, ...] = ()  # those that it undoes, or brings back
    paths: Optional[frozenset[str]] = None


class Refused(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"exit {code}")
        self.code = code


class History:
    def __init__(self, first: str, tree: Tree, most: int) -> None:
        self.most = most
        self.checkpoints = {first: Checkpoint(first, None, scan(tree, most))}
        self.here = first
        self.log: list[Operation] = []
        self.forks: dict[str, Fork] = {}
        self.left_alone: frozenset[str] = frozenset()

    # questions

    def line(self) -> list[str]:
        found = []
        at: Optional[str] = self.here
        while at is not None:
            found.append(at)
            at = self.checkpoints[at].parent
        return found

    def operation(self, id: str) -> Operation:
        return next(op for op in self.log if op.id == id)

    def plan(self, name: str, tree: Tree, paths: Optional[frozenset[str]] = None,
             taken_back: Optional[list[Operation]] = None) -> Plan:
        brought: Tree = {}
        for op in taken_back or []:
            if op.to in self.checkpoints:
                brought.update(self.checkpoints[op.to].snapshot.captured)
        return plan(self.checkpoints[name].snapshot, tree, self.left_alone, paths, brought)

    def interrupted(self) -> Optional[Operation]:
        return next((op for op in reversed(self.log) if op.interrupted), None)

    def can_undo(self, op: Operation) -> bool:
        return op.open and (not op.code or op.before in self.checkpoints)

    def unsaved(self, wanted: Plan, since: str) -> bool:
        """Whether edits since a checkpoint would be replaced."""
        edits = self.plan(since, wanted.before)
        return bool(edits.touched & wanted.touched)

    def doubtful(self, tree: Tree) -> frozenset[str]:
        """Directories that are hidden now, or were once: what was captured in them is a matter of when. The
        text says what must not happen to them, and not exactly what must."""
        found = scan(tree, self.most).uncovered | self.left_alone
        return found.union(*(made.snapshot.uncovered for made in self.checkpoints.values()))

    # where the three commands lead

    def undo(self, tree: Tree) -> Way:
        again = self.interrupted()
        if again is not None and again.command == "undo" and again.to in self.checkpoints:
            return Way(again.to, self.plan(again.to, tree))
        for name in self.line():
            found = self.plan(name, tree)
            if found.changes:
                return Way(name, found)
        raise Refused(12)

    def undo_restore(self, tree: Tree, id: Optional[str] = None) -> Way:
        open_ones = [op for op in self.log if op.open]
        if not open_ones:
            raise Refused(12)
        if id is None:
            id = open_ones[-1].id
        if id not in [op.id for op in open_ones]:
            raise Refused(12)
        undone = open_ones[[op.id for op in open_ones].index(id):]
        with_code = [op for op in undone if op.code]
        steps = tuple(op.id for op in undone)
        if not with_code:
            return Way(None, None, steps)
        to = with_code[0].before
        if to is None or to not in self.checkpoints:
            raise Refused(12)
        paths: Optional[frozenset[str]] = None
        if all(op.paths is not None for op in with_code):
            paths = frozenset(p for op in with_code for p in op.paths or ())
        return Way(to, self.plan(to, tree, paths, with_code[-1:]), steps, paths)

    def redoable(self) -> Optional[Operation]:
        again = self.interrupted()
        if again is not None and again.command == "redo":
            return self.operation(again.redoes)  # the same command again finishes it
        return next((op for op in reversed(self.log) if op.redoable), None)

    def redo(self, tree: Tree, *, force: bool = False) -> Way:
        op = self.redoable()
        if op is None or (op.code and op.before not in self.checkpoints):
            raise Refused(12)
        again = self.interrupted()
        again_redo = again is not None and again.command == "redo"
        if not op.code or op.before is None:
            return Way(None, None, (op.id,))
        way = Way(op.before, self.plan(op.before, tree, op.paths, [op]), (op.id,), op.paths)
        since = op.to if op.paths is not None else self.here
        if force or again_redo or way.plan is None or since not in self.checkpoints:
            return way
        if not self.unsaved(way.plan, since):
            return way
        # What an interrupted operation came to do is no edit of the person's.
        if op.interrupted and op.to in self.checkpoints and not self.edited(way.plan, op.before, str(op.to)):
            return way
        raise Refused(13)

    def edited(self, wanted: Plan, *known: str) -> bool:
        """Whether something would be replaced that is in none of these checkpoints."""
        touched = [self.plan(name, wanted.before).touched for name in known]
        return bool(wanted.touched.intersection(*touched))

    # checkpoints

    def backup_for(self, tree: Tree, wanted: Plan) -> Snapshot:
        """The tree as it is, and what the plan will touch, whatever the rules say."""
        found = scan(tree, self.most)
        captured = dict(found.captured)
        for path in wanted.written | wanted.deleted | wanted.looked_at:
            if path in tree:
                captured.update((above, tree[above]) for above in parents(path))
        return replace(found, captured=captured)

    def needs_backup(self, tree: Tree, wanted: Plan) -> bool:
        return not self.backup_for(tree, wanted).same_tree(self.checkpoints[self.here].snapshot)

    def save(self, name: str, tree: Tree) -> None:
        snapshot = scan(tree, self.most)
        self.left_alone = frozenset(p for p in self.left_alone
                                    if p not in snapshot.captured or p in snapshot.uncovered)
        self._add(Checkpoint(name, self.here, snapshot))
        self.here = name

    def back_up(self, name: str, tree: Tree, wanted: Plan) -> None:
        self._add(Checkpoint(name, self.here, self.backup_for(tree, wanted), backup=True))

    def _add(self, made: Checkpoint) -> None:
        self.checkpoints[made.name] = made
        assert made.parent is not None
        if not made.backup and self._is_work(self.checkpoints[made.parent].snapshot, made.snapshot):
            self.end_redo()

    def _is_work(self, old: Snapshot, new: Snapshot) -> bool:
        """Whether a checkpoint has a new tree: more than what is merely not captured came or went."""
        return any(old.captured.get(p, b"-") != new.captured.get(p, b"-")
                   and not under(p, old.uncovered | new.uncovered | self.left_alone)
                   for p in {*old.captured, *new.captured})

    def collect(self, names: list[str]) -> None:
        for name in names:
            gone = self.checkpoints.pop(name)
            for child in self.checkpoints.values():
                if child.parent == name:
                    child.parent = gone.parent

    def never_collected(self) -> set[str]:
        """Without those where the line forks, which is asked of what is left."""
        steps = [op for op in self.log if op.step or op.interrupted][-KEPT_STEPS:]
        redo = [op for op in self.log if op.redoable]
        return {self.here, *(op.before for op in steps + redo if op.before and op.before in self.checkpoints)}

    # operations

    def begin(self, op: Operation) -> None:
        if op.step and op.command != "undo":
            self.end_redo()
        self.log.append(op)

    def end_redo(self) -> None:
        for op in self.log:
            op.can_redo = False

    def end(self, op: Operation, kept: frozenset[str]) -> None:
        if op.here is not None:
            self.here = op.here
        self.left_alone |= kept
        # What a killed operation left half done is nothing to go forward to.
        op.can_redo = op.command == "undo" or (op.command == "undo-restore" and not all(
            self.operation(id).half_done for id in op.undoes))

    def take_back_effects(self, ids: tuple[str, ...]) -> list[Effect]:
        """Newest first. Returns what was really done."""
        found = []
        for id in reversed(ids):
            for effect in reversed(self.operation(id).effects):
                fork = self.forks[effect.fork]
                if effect.what == "made" and not fork.trashed and not fork.continued:
                    fork.trashed = True
                    found.append(Effect("deleted", effect.fork))
                elif effect.what == "named":
                    fork.name = effect.old
                    found.append(Effect("named", effect.fork, effect.new, effect.old))
                elif effect.what == "deleted" and fork.trashed:
                    fork.trashed = False
                    found.append(Effect("undeleted", effect.fork))
                elif effect.what == "undeleted" and not fork.trashed and not fork.continued:
                    fork.trashed = True
                    found.append(Effect("deleted", effect.fork))
        return found
