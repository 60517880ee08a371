"""A running `git fast-import`: gives it blobs and commits, and asks it what a commit holds."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Sequence

from rewind.checkpoint.remote.names import quoted
from rewind.checkpoint.remote.repository import Repository
from rewind.errors import GitFailed

_WHO = b"Rewind <rewind@localhost>"  # no person's name leaves this machine
_EVERY = 20.0  # seconds after which git saves what was written so far


class FastImport:
    """`with FastImport(repository, lock) as fast:`. Refs move at the end, and now and then before it. Git has
    the descriptor of the lock, so that after a crash nobody gets the lock before git has ended as well."""

    def __init__(self, repository: Repository, lock: int) -> None:
        self._repository = repository
        self._lock = lock
        self._mark = 0
        self._saved = time.monotonic()

    def __enter__(self) -> FastImport:
        command = self._repository.command("fast-import", "--quiet", "--done", "--date-format=raw")
        try:
            self._process = subprocess.Popen(command, env=self._repository.env, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             pass_fds=(self._lock,))
        except OSError as error:
            raise GitFailed(command="fast-import", reason=error.strerror or str(error))
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in, self._out, self._err = self._process.stdin, self._process.stdout, self._process.stderr
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind:
            self._process.kill()  # the next push writes again what was not saved
            if not self._out.closed:
                self._close()
            return
        self._send(b"done\n")
        code, complaint = self._close()
        if code:
            raise GitFailed(command="fast-import", reason=complaint)

    def _close(self) -> tuple[int, str]:
        try:
            self._in.close()
        except OSError:
            pass
        complaint = self._err.read().decode("utf-8", "replace")
        self._out.close()
        self._err.close()
        lines = [line for line in complaint.splitlines() if line.startswith(("fatal: ", "error: "))]
        return self._process.wait(), (lines or ["it ended too early"])[0].partition(": ")[2]

    def _send(self, data: bytes) -> None:
        try:
            self._in.write(data)
        except OSError:
            raise GitFailed(command="fast-import", reason=self._close()[1])

    def _answer(self) -> bytes:
        try:
            self._in.flush()
        except OSError:
            raise GitFailed(command="fast-import", reason=self._close()[1])
        return self._out.readline()

    def blob(self, size: int, pieces: Iterable[bytes]) -> bytes:
        """Store content. Returns a mark that stands for it in `write`."""
        self._mark += 1
        self._send(b"blob\nmark :%d\ndata %d\n" % (self._mark, size))
        left = size
        for piece in pieces:
            left -= len(piece)
            self._send(piece)
        if left:
            raise GitFailed(command="fast-import", reason="a file is not as long as its checkpoint says")
        self._send(b"\n")
        return b":%d" % self._mark

    def commit(self, ref: str, message: bytes, when: int, base: bytes, others: Sequence[bytes] = ()) -> bytes:
        """Begin a commit with the files of `base`; `write` and `delete` follow."""
        self._save_now_and_then()
        self._mark += 1
        who = b"%s %d +0000" % (_WHO, max(0, when))
        self._send(b"commit %s\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n%s\n" % (
            ref.encode(), self._mark, who, who, len(message), message))
        if base:
            self._send(b"from %s\n" % base)
        for other in others:
            self._send(b"merge %s\n" % other)
        return b":%d" % self._mark

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved > _EVERY:
            self._send(b"checkpoint\n")
            self._saved = time.monotonic()

    def write(self, path: bytes, mode: bytes, blob: bytes) -> None:
        self._send(b"M %s %s %s\n" % (mode, blob, quoted(path)))

    def write_inline(self, path: bytes, data: bytes) -> None:
        self._send(b"M 100644 inline %s\ndata %d\n%s\n" % (quoted(path), len(data), data))

    def delete(self, path: bytes) -> None:
        self._send(b"D %s\n" % quoted(path))

    def delete_all(self) -> None:
        self._send(b"deleteall\n")

    def commit_of(self, mark: bytes) -> bytes:
        """The id of a commit that was begun with `commit` and ended by a later command."""
        self._send(b"get-mark %s\n" % mark)
        return self._answer().strip()

    def look(self, commit: bytes, path: bytes) -> tuple[bytes, bytes]:
        """Kind (`blob` or `tree`) and id of what a commit has at a path; empty if it has nothing."""
        if commit.startswith(b":"):
            # Git does not know a commit's mark before the commit has ended, and `ls` does not end one.
            commit = self.commit_of(commit)
        self._send(b"ls %s %s\n" % (commit, quoted(path)))
        words = self._answer().split(b"\t")[0].split(b" ")
        return (words[1], words[2]) if len(words) == 3 and words[0].isdigit() else (b"", b"")  # or `missing`
