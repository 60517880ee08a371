"""The walk: lists every directory, compares it with what the last scan saw, and reports what differs.

Several processes share a large tree. Nothing is read here but names, `lstat` and ignore files.
"""

from __future__ import annotations

import marshal
import os
import sys

from rewind.fast.blake2 import digest
from rewind.paths import is_state_path, is_temp_name
from rewind.processes import close_all_but
from rewind.snapshot.rules.gitfiles import info_exclude, read_small
from rewind.snapshot.rules.rules import IGNORE_NAMES, IGNORED, NEVER, NORMAL, RuleTree
from rewind.snapshot.scan.sqlite_files import journals_of
from rewind.snapshot.trees.tree import MAX_DEPTH, is_git_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.cache import KnownDirs
    from rewind.snapshot.scan.moment import Moment

    Task = tuple[bytes, int, bytes, "list[Any] | None"]  # directory, mode, env, rows if already listed

# How a directory is walked: by the rules, as part of a small ignored directory, or only for pins.
BY_RULES, INSIDE_IGNORED, PINS_ONLY = 0, 1, 2

# The verdict on a row. Files first, then directories.
TAKE, SMALL_ONLY, SKIP, PINNED, FORCED, SPECIAL = b"ngvpfs"
DESCEND, BOUNDARY, TOO_BIG, TOO_BIG_PINNED, WHOLE, PIN_PATH, CLOSED, UNWANTED, HIDDEN = b"DILQAPXYH"
_PROBED = (BOUNDARY, TOO_BIG, TOO_BIG_PINNED)
CHILD_MODE = {BOUNDARY: INSIDE_IGNORED, WHOLE: INSIDE_IGNORED, TOO_BIG_PINNED: PINS_ONLY,
               PIN_PATH: PINS_ONLY}
NOT_WALKED = (TOO_BIG, CLOSED, UNWANTED, HIDDEN)

_TYPE, _IS_DIR, _IS_FILE, _IS_LINK = 0o170000, 0o040000, 0o100000, 0o120000
_SHARES = 256
# From this many pending directories, and files in total, a second process pays.
_ENOUGH_TO_SHARE, _ENOUGH_FILES = 24, 3000
_finished: list[int] = []  # child processes that have reported everything


class Listing:
    """A directory that differs from the last scan: its rows, with a verdict on each."""

    __slots__ = ("env", "folder", "mode", "out_env", "rows", "sig", "verdicts")

    def __init__(self, folder: bytes, mode: int, env: bytes, out_env: bytes, sig: bytes,
                 rows: list[Any], verdicts: bytes) -> None:
        self.folder = folder
        self.mode = mode
        self.env = env
        self.out_env = out_env
        self.sig = sig
        self.rows = rows
        self.verdicts = verdicts

    def plain(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in ("folder", "mode", "env", "out_env", "sig",
                                                      "rows", "verdicts"))

    def marks(self) -> bytes:
        """The directories inside it that are not simply walked, for the next walk."""
        return b"\0".join(bytes((verdict,)) + row[0] for row, verdict in zip(self.rows, self.verdicts)
                          if verdict != DESCEND and is_dir_row(row))


class WalkResult:
    """The differences found: changed directories, and those that could not be listed."""

    def __init__(self) -> None:
        self.changed: dict[bytes, Listing] = {}
        self.failed: dict[bytes, bytes] = {}  # directory -> reason; b"" if it has vanished
        self.temps: list[bytes] = []  # leftovers of an interrupted restore
        self.nested: list[bytes] = []  # the tops of nested repositories


def marks_by_name(marks: bytes) -> dict[bytes, int]:
    return {mark[1:]: mark[0] for mark in marks.split(b"\0") if mark}


def is_dir_row(row: tuple[Any, ...]) -> bool:
    return len(row) < 6


class Walker:
    def __init__(self, root: bytes, rules: Rules, known: KnownDirs, moment: Moment | None = None) -> None:
        """If `moment` is over, a directory that contains something newer counts as changed."""
        self.root = root
        self._moment = moment if moment and moment.is_over() else None
        self.rules = rules
        self.known = known
        self.found = WalkResult()
        self._tree: RuleTree | None = None
        self._pins = _pins_by_folder(rules)
        # Short paths are faster. The current directory belongs to the whole process, so it is only changed if
        # nobody notices: in a forked child, or if there is no other thread.
        self._may_chdir = "threading" not in sys.modules
        self._pending: list[Task] = []
        self._rules_in: dict[bytes, bool] = {}  # directory -> whether it contains rules

    @property
    def tree(self) -> RuleTree:
        if self._tree is None:
            self._tree = RuleTree(self.rules, self._read_ignore, self._nested_exclude, self._adds_none)
        return self._tree

    def _adds_none(self, folder: bytes) -> bool:
        """Only for directories that were listed. Those that changed are noted; the others are as the cache
        says."""
        if folder in self._rules_in:
            return not self._rules_in[folder]
        return folder in self.known.sigs and folder not in self.known.special

    def run(self, processes: int) -> WalkResult:
        _reap_child()
        try:
            here = os.open(b".", os.O_RDONLY) if self._may_chdir else -1
        except OSError:
            here = -1  # we could not come back to this directory
        self._may_chdir = here >= 0
        if not self._may_chdir:
            return self._walk(processes)
        try:
            return self._walk(processes)
        finally:
            os.fchdir(here)
            os.close(here)

    def _walk(self, processes: int) -> WalkResult:
        self._pending.append((b"", BY_RULES, self.rules.digest, None))
        done = 0
        while done < len(self._pending) and len(self._pending) - done < _ENOUGH_TO_SHARE:
            self._visit(*self._pending[done])  # breadth first, until there is enough to share
            done += 1
        tasks = self._pending[done:]
        if len(tasks) >= _ENOUGH_TO_SHARE and processes > 1 and not self._has_few_files():
            self.known.fetch(task[0] for task in tasks)
            tasks.sort(key=self._weight, reverse=True)
            if self._walk_in_processes(tasks, processes):
                return self.found
        for task in tasks:
            self._walk_below(task)
        return self.found

    def _has_few_files(self) -> bool:
        """According to the last scan. Before the first scan, nothing is known."""
        top = self.known.get(b"")
        return top is not None and top.files < _ENOUGH_FILES

    def _weight(self, task: Task) -> int:
        known = self.known.get(task[0])
        return known.files if known else 0

    def _walk_below(self, task: Task) -> None:
        pending = self._pending = [task]
        while pending:
            self._visit(*pending.pop())

    # several processes

    def _walk_in_processes(self, tasks: list[Task], processes: int) -> bool:
        """All processes take numbers of shares from one pipe until it is empty."""
        take, fill = os.pipe()
        # One byte for each share, so that the pipe holds them all, however small it is.
        shares = [tasks[i::_SHARES] for i in range(min(_SHARES, len(tasks)))]
        os.write(fill, bytes(range(len(shares))))
        os.close(fill)
        mark = (dict(self.found.changed), dict(self.found.failed), list(self.found.temps),
                list(self.found.nested))
        children = []
        for _ in range(processes - 1):
            try:
                children.append(self._fork(take, shares))
            except OSError:
                break  # no more processes are possible; the existing ones do the work
        self._drain(take, shares)
        os.close(take)
        merged = [self._merge(child, out) for child, out in children]  # a list, so that every child is merged
        if not all(merged):  # a child died, so do all of it again in this process
            self.found.changed, self.found.failed, self.found.temps, self.found.nested = mark
        return all(merged)

    def _fork(self, take: int, shares: list[list[Task]]) -> tuple[int, int]:
        out, into = os.pipe()
        try:
            child = os.fork()
        except OSError:
            os.close(out)
            os.close(into)
            raise
        if not child:
            self._child(take, into, shares)
        os.close(into)
        return child, out

    def _drain(self, take: int, shares: list[list[Task]]) -> None:
        while True:
            number = os.read(take, 1)
            if not number:
                return
            for task in shares[number[0]]:
                self._walk_below(task)

    def _child(self, take: int, into: int, shares: list[list[Task]]) -> None:
        status = 1
        try:
            # If our parent is killed, its lock must be released, and we must not write to its pipe for ever.
            close_all_but(take, into)
            self.found = WalkResult()
            self._may_chdir = True
            self._drain(take, shares)
            found = self.found
            result = (found.failed, found.temps, found.nested,
                      [one.plain() for one in found.changed.values()])
            message = b"ok" + marshal.dumps(result)  # only between our processes, never on disk
            view = memoryview(message)
            while view:
                view = view[os.write(into, view):]
            os.close(into)  # now, not when the system has cleaned up this process
            status = 0
        finally:
            os._exit(status)

    def _merge(self, child: int, out: int) -> bool:
        message = bytearray()
        while True:
            part = os.read(out, 1 << 20)
            if not part:
                break
            message += part
        os.close(out)
        _finished.append(child)
        if not message.startswith(b"ok"):
            return False
        try:
            failed, temps, nested, changed = marshal.loads(memoryview(message)[2:])
        except (EOFError, ValueError):
            return False
        self.found.failed.update(failed)
        self.found.temps += temps
        self.found.nested += nested
        self.found.changed.update((one[0], Listing(*one)) for one in changed)
        return True

    # one directory

    def _visit(self, folder: bytes, mode: int, env: bytes, rows: list[Any] | None) -> None:
        if folder.count(b"/") >= MAX_DEPTH:
            self.found.failed[folder] = b"too-deep"
            return
        if rows is None:
            try:
                rows = self._rows(folder)
            except OSError as error:
                self._note_failure(folder, error)
                return
        pins = self._pins.get(folder)
        sig = digest(marshal.dumps((env, mode, pins, rows), 2))
        same = self.known.sigs.get(folder) == sig and not (self._moment and self._has_newer(rows))
        if same:
            special = self.known.special.get(folder)
            if special is None:
                for row in rows:
                    if len(row) == 4:
                        self._pending.append((join(folder, row[0]), mode, env, None))
                return
            out_env, marks = special
            same = not _is_linked(rows) or out_env == self._env_below(folder, env, rows)
        if _is_nested(folder, rows):
            self.found.nested.append(folder)
        if same:
            verdicts = self._known_verdicts(folder, rows, marks)
        else:
            self._rules_in[folder] = self._has_rules(folder, rows)
            verdicts = self._verdicts(folder, mode, rows)
        probes, final = self._probe_boundaries(folder, rows, verdicts)
        if same and final != verdicts:
            # The size of an ignored directory in it crossed the limit, so the directory's tree must be made
            # again, and the cache has no verdicts on files.
            probes, final = self._probe_boundaries(folder, rows, self._verdicts(folder, mode, rows))
            same = False
        if not same:
            out_env = self._env_below(folder, env, rows)
            self.found.changed[folder] = Listing(folder, mode, env, out_env, sig, rows, final)
        for row, verdict in zip(rows, final):
            if is_dir_row(row) and verdict not in NOT_WALKED:
                child = join(folder, row[0])
                self._pending.append((child, CHILD_MODE.get(verdict, mode), out_env,
                                      probes.get(child)))

    def _has_newer(self, rows: list[Any]) -> bool:
        moment = self._moment
        return moment is not None and any(moment.ended_before(row[3]) for row in rows if not is_dir_row(row))

    def _note_failure(self, folder: bytes, error: OSError) -> None:
        if not folder:
            raise error
        gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
        self.found.failed[folder] = b"" if gone else b"unreadable"

    def _rows(self, folder: bytes) -> list[Any]:
        if self._may_chdir:
            os.chdir(self.root + b"/" + folder)
            return list_rows(b"", bool(folder))
        return list_rows(self.root + b"/" + folder + b"/" if folder else self.root + b"/",
                         bool(folder))

    def _known_verdicts(self, folder: bytes, rows: list[Any], marks: bytes) -> bytes:
        special = marks_by_name(marks)
        return bytes(special.get(row[0], DESCEND) if is_dir_row(row) else TAKE for row in rows)

    def _verdicts(self, folder: bytes, mode: int, rows: list[Any]) -> bytes:
        pins = dict(self._pins.get(folder) or ())
        return bytes([self._verdict(folder, mode, row, pins) for row in rows])

    def _verdict(self, folder: bytes, mode: int, row: tuple[Any, ...], pins: dict[bytes, int]) -> int:
        name = row[0]
        is_dir = is_dir_row(row)
        path = join(folder, name)
        if is_git_dir(name) or path in self.rules.hidden or (name == b"rewind" and is_state_path(path)):
            return HIDDEN
        if name.startswith(b".rewind-") and not is_dir and is_temp_name(name):
            self.found.temps.append(path)
            return HIDDEN
        if is_dir:
            return self._dir_verdict(folder, mode, name, name in pins)
        if (row[5] & _TYPE) not in (_IS_FILE, _IS_LINK):
            return SPECIAL
        if name in pins:
            return pins[name]
        if mode == PINS_ONLY:
            return HIDDEN
        if mode == INSIDE_IGNORED:
            return SKIP if self.tree.is_on_skip_list(folder, name, False) else TAKE
        return (TAKE, SMALL_ONLY, SKIP)[self.tree.classify(folder, name, False)]

    def _dir_verdict(self, folder: bytes, mode: int, name: bytes, pinned: bool) -> int:
        if mode == PINS_ONLY:
            return PIN_PATH if pinned else HIDDEN
        if mode == INSIDE_IGNORED:
            verdict = NEVER if self.tree.is_on_skip_list(folder, name, True) else NORMAL
        else:
            verdict = self.tree.classify(folder, name, True)
        if verdict == NORMAL:
            return DESCEND
        if verdict == IGNORED and self.rules.policy != "none":
            if self.rules.policy == "all":
                return WHOLE
            return TOO_BIG_PINNED if pinned else TOO_BIG  # unless the probe finds that it is small
        if pinned:
            return PIN_PATH
        return CLOSED if verdict == NEVER else UNWANTED

    def _env_below(self, folder: bytes, env: bytes, rows: list[Any]) -> bytes:
        """A digest of the rules for the directories inside it. Unchanged if it adds no rules."""
        if not self._has_rules(folder, rows):
            return env
        nested = _is_nested(folder, rows)
        texts = [self._read_ignore(folder, name) for name in IGNORE_NAMES]
        exclude = (self._nested_exclude(folder) if nested else None) or b""
        return digest(marshal.dumps((env, texts, nested, exclude), 2))

    def _has_rules(self, folder: bytes, rows: list[Any]) -> bool:
        return _is_nested(folder, rows) or any(row[0] in IGNORE_NAMES for row in rows)

    # ignored directories, which are captured if small: a walk that stops at the limit finds out

    def _probe_boundaries(self, folder: bytes, rows: list[Any],
                          verdicts: bytes) -> tuple[dict[bytes, list[Any]], bytes]:
        """Rows that were read for this (by path), and the verdicts with the results of the probes."""
        probes: dict[bytes, list[Any]] = {}
        final = bytearray(verdicts)
        for i, verdict in enumerate(verdicts):
            if verdict not in _PROBED or not is_dir_row(rows[i]):
                continue
            name = rows[i][0]
            if self._is_small(join(folder, name), probes):
                final[i] = BOUNDARY
            elif verdict == BOUNDARY:
                pins = dict(self._pins.get(folder) or ())
                final[i] = TOO_BIG_PINNED if name in pins else TOO_BIG
        return probes, bytes(final)

    def _is_small(self, top: bytes, probes: dict[bytes, list[Any]]) -> bool:
        files = size = 0
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                rows = self._rows(folder)
            except OSError:
                continue  # the visit reports it later
            if folder == top:
                probes[top] = rows
            self._rules_in[folder] = self._has_rules(folder, rows)  # needed before it is visited
            for row in rows:
                if not is_dir_row(row):
                    files += 1
                    size += row[1]
                elif not is_git_dir(row[0]) and not self.tree.is_on_skip_list(folder, row[0], True):
                    below = join(folder, row[0])
                    if below not in self.rules.hidden:  # not another work tree: it is not captured
                        pending.append(below)
            if files > self.rules.dir_files or size > self.rules.dir_bytes:
                return False
        return True

    # ignore files on the disk

    def _read_ignore(self, folder: bytes, name: bytes) -> bytes:
        return read_ignore_file(self.root, folder, name)

    def _nested_exclude(self, folder: bytes) -> bytes | None:
        return nested_exclude(self.root, folder)


def list_rows(prefix: bytes, nested: bool) -> list[Any]:
    """One row per name: (name, mode, inode, when it was moved) for a directory, and the whole signature for
    anything else. The time is for Watchman, which is not reliable after directories have changed places."""
    names = os.listdir(prefix or b".")
    names.sort()
    rows: list[Any] = []
    add = rows.append
    lstat = os.lstat
    for name in names:
        try:
            st = lstat(prefix + name)
        except FileNotFoundError:
            continue  # it was deleted between the two calls
        mode = st.st_mode
        if mode & 0o170000 == 0o040000:
            if nested and name == b".git":
                add((name, mode, _stamp(prefix + b".git/info/exclude")))
            else:
                # A rename changes only ctime. A change in the directory changes mtime as well.
                changed = st.st_ctime_ns
                add((name, mode, st.st_ino, 0 if changed == st.st_mtime_ns else changed))
        else:
            add((name, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino, mode))
    return rows


def _reap_child() -> None:
    """A child takes a moment to end. Nobody need wait for that, so the next walk collects its status."""
    while _finished:
        try:
            os.waitpid(_finished.pop(), 0)
        except ChildProcessError:
            pass  # it belongs to the process that forked this one


def _is_nested(folder: bytes, rows: list[Any]) -> bool:
    """Whether it is the top of a nested repository."""
    return bool(folder) and any(row[0] == b".git" for row in rows)


def _is_linked(rows: list[Any]) -> bool:
    """Whether it is a work tree or a submodule. Its excludes are elsewhere, so no row shows their changes."""
    return any(row[0] == b".git" and not is_dir_row(row) for row in rows)


def _stamp(path: bytes) -> tuple[int, ...]:
    # The excludes of a nested repository are in its `.git`, which is not walked.
    try:
        st = os.lstat(path)
    except OSError:
        return ()
    return st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino


def read_ignore_file(root: bytes, folder: bytes, name: bytes) -> bytes:
    return read_small(os.path.join(root, folder, name), follow=False)


def nested_exclude(root: bytes, folder: bytes) -> bytes | None:
    top = os.path.join(root, folder)
    return info_exclude(top) if os.path.lexists(top + b"/.git") else None


def join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _pins_by_folder(rules: Rules) -> dict[bytes, tuple[tuple[bytes, int], ...]]:
    """Directory -> the names in it that are pinned or lead to a pinned path."""
    found: dict[bytes, dict[bytes, int]] = {}
    for pins, verdict in ((rules.pins, PINNED), (rules.forced, FORCED)):
        for pin in pins:
            folder, _, name = pin.rpartition(b"/")
            names = found.setdefault(folder, {})
            names[name] = verdict
            for journal in journals_of(name):  # it may be a database, which is useless without them
                names.setdefault(journal, verdict)
            while folder:
                folder, _, name = folder.rpartition(b"/")
                found.setdefault(folder, {}).setdefault(name, PIN_PATH)
    return {folder: tuple(sorted(names.items())) for folder, names in found.items()}
