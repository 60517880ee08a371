"""The lock: one writer at a time, and upkeep lets others go first."""

from __future__ import annotations

import errno
import fcntl
import os
import time

from rewind.errors import Locked, RewindError
from rewind.files import PRIVATE_FILE, keep_owner, read_bounded, unlink_quietly, write_all
from rewind.processes import boot_id, process_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_NO_FLOCK = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # from a file system without flock
# (until, pause) in seconds: the longer a process waits, the more rarely it looks. If a hundred processes
# wait, looking takes most of the time.
_LOOK_AGAIN = ((0.25, 0.003), (3.0, 0.01))
_LOOK_AGAIN_LATER = 0.05
_SIGNED = 64  # bytes in the lock file that say who holds the lock


class Lock:
    """One writer at a time. The kernel releases the lock when its process ends, so it is never stale.

    Upkeep takes the lock for a moment, again and again, and would always win against a process that only
    looks from time to time. So a process that waits stands `in_line` (`WaitingLine`), and `upkeep` does not
    take the lock while somebody stands there.
    """

    def __init__(self, path: str, what: str, wait: float = 10.0, *, in_line: bool = False,
                 upkeep: bool = False) -> None:
        self.path = path
        self.what = what
        self.wait = wait
        self.in_line = in_line
        self.upkeep = upkeep
        self.fd = -1
        self._claim: str | None = None

    def __enter__(self) -> Lock:
        try:
            self._open()
            self._acquire()
            self._sign()
        except BaseException:
            self.close()
            raise
        return self

    def try_acquire(self) -> bool:
        """Like `with`, but it returns at once whether it got the lock, and costs little to repeat."""
        if self.fd < 0:
            self._open()
        if not self._try():
            return False
        self._sign()
        return True

    def _open(self) -> None:
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE_FILE)
        keep_owner(self.path, os.path.dirname(self.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._claim:
            unlink_quietly(self._claim)
            self._claim = None
            if self.upkeep:  # without flock, there is no line: leave enough time for everybody to look once
                time.sleep(_LOOK_AGAIN_LATER)
        if self.fd >= 0:
            _unlock(self.fd)
            os.close(self.fd)
            self.fd = -1

    def now_ns(self) -> int:
        """The time by the clock of the file system, which may differ from that of this machine."""
        os.utime(self.fd)
        return os.fstat(self.fd).st_mtime_ns

    def _acquire(self) -> None:
        line = WaitingLine(self.path)
        began = time.monotonic()
        try:
            while not self._try_in_turn(line):
                waited = time.monotonic() - began
                if waited >= self.wait:
                    raise Locked(holder=self._holder())
                if self.in_line:
                    line.join()
                time.sleep(next((pause for until, pause in _LOOK_AGAIN if waited < until), _LOOK_AGAIN_LATER))
        finally:
            line.leave()

    def _try_in_turn(self, line: WaitingLine) -> bool:
        return (not self.upkeep or line.is_empty()) and self._try()

    def _try(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            if error.errno not in _NO_FLOCK:
                raise
        return self._try_claim()

    def _try_claim(self) -> bool:
        """For file systems without flock: make a claim file that names host, boot and process."""
        claim = self.path + ".claim"
        if self._put_claim(claim):
            return True
        if not is_dead_claim(claim):
            return False
        # It is moved aside, not deleted. If several processes find it dead, only one of them can move it, and
        # that one puts back a living claim that was made in between.
        aside = f"{claim}.{os.getpid()}"
        try:
            os.rename(claim, aside)
        except FileNotFoundError:
            return False
        if not is_dead_claim(aside):
            os.rename(aside, claim)
            return False
        unlink_quietly(aside)
        return self._put_claim(claim)

    def _put_claim(self, claim: str) -> bool:
        """Link a finished file, so that nobody sees a half-written claim."""
        draft = f"{claim}.{os.getpid()}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, PRIVATE_FILE)
        try:
            pid = os.getpid()
            lines = (os.uname().nodename, boot_id(), str(pid), process_start(pid) or "", self.what)
            write_all(fd, ("\n".join(lines) + "\n").encode())
            os.link(draft, claim)
        except FileExistsError:
            return False
        finally:
            os.close(fd)
            unlink_quietly(draft)
        self._claim = claim
        return True

    def _sign(self) -> None:
        # Only for the message of a process that waits in vain. The kernel's lock is what counts, also on a
        # full disk, where a collection must still be able to begin. The line always has the same length,
        # because truncating a file takes longer than everything else here.
        try:
            os.pwrite(self.fd, f"{os.getpid()} rewind {self.what}\n".ljust(_SIGNED).encode(), 0)
        except OSError:
            pass

    def _holder(self) -> str:
        try:
            text = os.pread(self.fd, 200, 0).decode("utf-8", "replace")
        except OSError:
            text = ""
        pid, _, what = text.partition("\n")[0].partition(" ")
        return f"{what or 'rewind'} (process {pid or 'unknown'})"


def is_dead_claim(claim: str) -> bool:
    try:
        host, boot, pid, start, _ = read_bounded(claim, 4096).decode().split("\n", 4)
        living = process_start(int(pid))
    except FileNotFoundError:
        return True
    except (OSError, ValueError, RewindError):
        return False
    if host != os.uname().nodename:
        return False  # a process of another machine cannot be seen from here, so wait for it
    return boot != boot_id() or living != start


class WaitingLine:
    """The processes that wait for a lock: each holds a shared lock on a second file beside it, which the
    kernel releases when the process ends, on another machine as well.

    It is a courtesy: if the file cannot be written, or without flock, everybody still gets the lock, only
    later.
    """

    def __init__(self, path: str) -> None:
        self.path = path + ".waiting"
        self.fd = -1

    def join(self) -> None:
        """Stand in line until `leave`. This may fail while somebody checks whether the line is empty."""
        if self.fd >= 0:
            return
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE_FILE)
        except OSError:
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            self.fd = fd
        except OSError:
            os.close(fd)

    def leave(self) -> None:
        if self.fd >= 0:
            _unlock(self.fd)
            os.close(self.fd)
            self.fd = -1

    def is_empty(self) -> bool:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return True  # nobody has ever waited here
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _unlock(fd)
            return True
        except OSError as error:
            return error.errno in _NO_FLOCK
        finally:
            os.close(fd)


def is_wanted(path: str) -> bool:
    """Whether somebody holds this lock or waits for it, so that upkeep should rest."""
    if not WaitingLine(path).is_empty():
        return True
    why = _why_not_shared(path, os.O_RDWR)
    return why is not None and (why not in _NO_FLOCK or not is_dead_claim(path + ".claim"))


def is_locked(path: str) -> bool:
    """Whether another program holds a lock on its lock file. This takes a shared lock for an instant."""
    return _why_not_shared(path, os.O_RDONLY | os.O_NONBLOCK) in (errno.EWOULDBLOCK, errno.EACCES)


def _why_not_shared(path: str, mode: int) -> int | None:
    """The error with which a shared lock is refused, or None if it is granted or there is no such file."""
    try:
        fd = os.open(path, mode | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        _unlock(fd)
        return None
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)


def _unlock(fd: int) -> None:
    # Closing is not enough: a forked child that is still alive shares the lock through its descriptor.
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        pass  # on a file system without flock, only the claim file counted
