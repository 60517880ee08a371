"""Finds the system calls of a command that change files, and runs the command again so that one of them fails
or is the last one. strace does both. Short writes are made by a small library (`short_write.c`)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

KILL = "KILL"  # a fault: SIGKILL on entering the call, so that the call before it is the last one
SHORT = "SHORT"  # a fault: the Nth write takes only half of the bytes
_OPENING = ("open", "openat", "creat")
_WRITING = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "copy_file_range", "sendfile")
_LOCKING = ("flock", "fcntl")
_NAMING = ("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat")
_REMOVING = ("unlink", "unlinkat", "rmdir")
_MARKING = ("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utimensat")
_SIZING = ("ftruncate", "truncate", "fallocate")
_SYNCING = ("fsync", "fdatasync", "sync_file_range")
CALLS = ",".join((*_OPENING, *_WRITING, *_LOCKING, *_NAMING, *_REMOVING, *_MARKING, *_SIZING, *_SYNCING))
SQLITES_CALLS = ("pwrite64", "fdatasync", "fcntl", "fchown", "ftruncate")
# The errors that each call may return.
_ERRORS = {
    _OPENING: ("ENOSPC", "EIO", "EACCES", "EINTR"), _WRITING: ("ENOSPC", "EIO", "EINTR"),
    _NAMING: ("ENOSPC", "EIO", "EACCES"), _REMOVING: ("EIO", "EACCES"), _MARKING: ("EIO", "EACCES"),
    _SIZING: ("ENOSPC", "EIO", "EINTR"), _SYNCING: ("EIO", "ENOSPC"), ("flock",): ("EIO", "EINTR", "ENOLCK"),
    ("fcntl",): ("EIO",),
}
_LINE = re.compile(r"(\d+) +(\w+)\((.*)")
_CHANGING_OPEN = re.compile(r"O_(CREAT|TRUNC|WRONLY|RDWR)")
_PATH = re.compile(r'[<"]([^<>"]+)[>"]')
_RESULT = re.compile(r"\) += [^=]*$")
_HERE = re.compile(r"AT_FDCWD<[^>]*>")
_RECORD = re.compile(r"\b\d{8}_\d{6}_\d{3}\b")  # the name of a checkpoint, which depends on the time
_LOCK = re.compile(r"F_(OFD_)?SETLKW?, \{l_type=F_(RD|WR)LCK")


class Point(NamedTuple):
    """The Nth call of that name in a process, and its fault. For a file that has the same name in every run,
    it is the Nth call about that file, because other calls depend on the version of Python."""

    call: str
    number: int
    fault: str
    path: str = ""  # relative to the place of the world

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.call}#{self.number}", self.path, self.fault) if part)


class Run(NamedTuple):
    code: int
    out: str
    err: str
    hit: str  # the call as strace shows it; empty if the process ended before

    @property
    def killed(self) -> bool:
        return self.code in (-9, 137)


def has_strace() -> bool:
    """Whether a process may be traced here; some containers forbid it."""
    if not shutil.which("strace"):
        return False
    for what in ("error=EIO", "signal=SIGKILL"):
        probe = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=write", "-e",
                 f"inject=write:{what}:when=1", "sh", "-c", "echo alive"]
        if b"alive" in subprocess.run(probe, capture_output=True, check=False).stdout:
            return False
    return True


def _strace(log: Path, calls: str, *more: str) -> list[str]:
    return ["strace", "-f", "-y", "-qq", "-s", "16", "-o", str(log), "-e", "trace=" + calls, *more]


# Only the calls that are traced stop the process. Otherwise tracing takes several times as long. This cannot
# be used to send a signal, because strace 6.1 then sends none and reports no error.
_QUICKLY = ("--seccomp-bpf", "-e", "signal=none")


def run(command: Sequence[str], env: dict[str, str], cwd: Path, stdin: bytes = b"",
        tracer: Sequence[str] = ()) -> Run:
    """Output goes to files, so that processes in the background of the command do not delay this."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        done = subprocess.run([*tracer, *command], env=env, cwd=cwd, stdin=given, stdout=out, stderr=err,
                              timeout=120, check=False)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
    return Run(done.returncode, texts[0], texts[1], "")


def trace(command: Sequence[str], env: dict[str, str], cwd: Path, log: Path, stdin: bytes = b"") -> Run:
    return run(command, env, cwd, stdin, _strace(log, CALLS, *_QUICKLY))


def points_of(log: Path, top: Path, thin: int = 0, steady: Collection[str] = ()) -> list[Point]:
    """Each file-changing call below `top`, with each fault that it may have.

    strace counts the calls of each process. If calls in two processes have the same number, the fault hits
    the one that comes first, and often the other process no longer gets there. If the first one changes no
    file, this is no point. `steady` are the files that have the same name in every run.

    `thin` limits the number of similar calls on files of one kind. They are spread from the first to the
    last."""
    seen: Counter[tuple[str, str, str]] = Counter()
    points: dict[Point, str] = {}  # with the kind of file
    writes: Counter[str] = Counter()
    met: set[tuple[str, str, int]] = set()
    changed = True
    for pid, call, rest in _calls(log):
        paths = {"": None, **dict.fromkeys(_paths(rest, top))}
        seen.update((pid, call, path) for path in paths)
        path = next((path for path in paths if path in steady), "")
        number = seen[pid, call, path]
        comes_first = (call, path, number) not in met
        met.update((call, path, seen[pid, call, path]) for path in paths)
        if not _changes(call, rest, str(top)):
            continue
        kind = _kind(rest, str(top)) if thin else ""
        faults = errors_of(call) if comes_first else ()
        if changed and comes_first:  # otherwise the files would be as at the point before
            faults = (*faults, KILL)
        points.update((Point(call, number, fault, path), kind) for fault in faults)
        changed = call not in (*_LOCKING, *_SYNCING) and (call not in _OPENING or "O_CREAT" in rest)
        if call in ("write", "pwrite64"):
            writes[pid] += 1
            if not rest.endswith(" = 1"):
                points[Point("write", writes[pid], SHORT)] = kind
    return _thinned(points, thin) if thin else list(points)


def steady_paths(logs: Sequence[Path], top: Path) -> set[str]:
    """The files that have the same name in each of these runs, and so in the next one."""
    found = [{path for _, _, rest in _calls(log) for path in _paths(rest, top)} for log in logs]
    return {path for path in set.intersection(*found) if not _RECORD.search(path)}


def _calls(log: Path) -> Iterator[tuple[str, ...]]:
    """The process, the name and the rest of each call."""
    matches = map(_LINE.match, log.read_text(errors="replace").splitlines())
    return (match.groups() for match in matches if match)


def _paths(rest: str, top: Path) -> Iterator[str]:
    """The paths in the arguments by which strace can select calls. Names relative to a directory do not
    count."""
    given = _HERE.sub("", _RESULT.sub("", rest))
    start = f"{top}/"
    return (path[len(start):] for path in _PATH.findall(given) if path.startswith(start))


def _kind(rest: str, top: str) -> str:
    """The kind of file of a call: for copied files of the program the ending, for others the path without
    numbers."""
    paths = (path for path in _PATH.findall(rest) if path.startswith(top) and path != f"{top}/project")
    path = next(paths, "")
    if "/lib-" in path or "/.lib-" in path:
        return os.path.splitext(path)[1]
    return re.sub(r"\d+", "", path)


def _thinned(points: dict[Point, str], most: int) -> list[Point]:
    alike: dict[tuple[str, str, str], list[Point]] = {}
    for point, kind in points.items():
        alike.setdefault((point.call, point.fault, kind), []).append(point)
    kept = {group[round(at * (len(group) - 1) / max(1, most - 1))]
            for group in alike.values() for at in range(most)}
    return [point for point in points if point in kept]


def errors_of(call: str) -> tuple[str, ...]:
    return next(errors for calls, errors in _ERRORS.items() if call in calls)


def _changes(call: str, rest: str, top: str) -> bool:
    if call in _OPENING and not _CHANGING_OPEN.search(rest):
        return False
    if call == "fcntl" and not _LOCK.search(rest):
        return False
    if call in _WRITING or call in _LOCKING or call in _SYNCING:
        return f"<{top}/" in rest
    return True


def inject(point: Point, command: Sequence[str], env: dict[str, str], cwd: Path, log: Path,
           stdin: bytes = b"", library: Optional[Path] = None) -> Run:
    if point.fault == SHORT:
        more = {"LD_PRELOAD": str(library), "REWIND_SHORT_WRITE": str(point.number),
                "REWIND_SHORT_BELOW": str(cwd.parent), "REWIND_SHORT_LOG": str(log)}
        log.unlink(missing_ok=True)
        done = run(command, {**env, **more}, cwd, stdin)
        return done._replace(hit=log.read_text() if log.exists() else "")
    what, quickly = ("signal=SIGKILL", ()) if point.fault == KILL else (f"error={point.fault}", _QUICKLY)
    injected = f"inject={point.call}:{what}:when={point.number}"
    only = ("-P", str(cwd.parent / point.path)) if point.path else ()
    done = run(command, env, cwd, stdin, _strace(log, point.call, "-e", injected, *only, *quickly))
    return done._replace(hit=_hit(point, log))


def _hit(point: Point, log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    if point.fault != KILL:
        return next((line for line in lines if "(INJECTED)" in line), "")
    killed = {line.split(maxsplit=1)[0] for line in lines if line.endswith("+++ killed by SIGKILL +++")}
    seen: Counter[str] = Counter()
    for line in lines:
        match = _LINE.match(line)
        if match and match[2] == point.call and match[1] in killed:
            seen[match[1]] += 1
            if seen[match[1]] == point.number:
                return line
    return ""


def is_change(hit: str, top: Path) -> bool:
    """Whether the call that was hit changes files. The numbers of calls may differ a little between runs."""
    match = _LINE.match(hit)
    return not match or _changes(match[2], match[3], str(top))


# short writes

def short_write_library(folder: Path) -> Optional[Path]:
    """Compile the library. None if there is no C compiler."""
    source = Path(__file__).with_name("short_write.c")
    target = folder / "short_write.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(source), "-ldl"],
                          capture_output=True, check=False)
    return target if done.returncode == 0 else None
