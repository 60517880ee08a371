"""The few file operations that must be exactly right: atomic writes, the lock, a process's life.

POSIX-only calls live here, so that another platform means another version of this file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import time

from rewind.errors import Locked, RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_FLOCK = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # a file system without it
# Seconds between two looks, by how long somebody has waited: of a hundred that wait, looking costs the most.
_LOOK_AGAIN = ((0.25, 0.003), (3.0, 0.01))
_LOOK_AGAIN_LATER = 0.05
_MOST_DESCRIPTORS = 4096  # where the open ones cannot be listed


def open_missing_streams() -> None:
    """Where a standard stream was closed by whoever started us, the next file that is opened would get its
    number, and what is meant for a person or an agent would be written into it."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > 2:
            os.close(fd)
            return
        os.set_inheritable(fd, True)


def make_private_dir(path: str) -> None:
    """Like `os.makedirs`, with those above it as private as itself."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above and not os.path.isdir(above):
        make_private_dir(above)
    try:
        os.mkdir(path, PRIVATE_DIR)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    else:
        keep_owner(path, above)


def keep_owner(path: str, like: str) -> None:
    """What root makes among somebody's files (`sudo rewind init`) stays theirs: they could not read it."""
    if os.geteuid() == 0:
        info = os.stat(like or ".")
        if info.st_uid:
            os.chown(path, info.st_uid, info.st_gid, follow_symlinks=False)


def give_to_owner(folder: str) -> None:
    """The same for all that lies in a directory."""
    if os.geteuid() or not os.path.isdir(folder) or not os.stat(folder).st_uid:
        return
    for at, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(at, name)
            if not os.lstat(path).st_uid:
                keep_owner(path, folder)


def make_durable_dir(path: str) -> None:
    """The same, and a power cut does not take it: what is durable in a directory goes with the directory."""
    above = os.path.dirname(path)
    if not os.path.isdir(above):
        make_durable_dir(above)
    make_private_dir(path)
    fsync_dir(above)


def chmod_no_follow(name: bytes, mode: int, dir_fd: int) -> None:
    """The mode of a directory; never that of what a link in its place leads to. It need not be readable."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, mode, dir_fd=dir_fd, follow_symlinks=False)
        return
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | _NO_FOLLOW, dir_fd=dir_fd)
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)  # Linux has no other way to name what is open like this
    finally:
        os.close(fd)


def fsync_dir(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def draft_of(path: str) -> str:
    """Under which name this process writes what is to replace `path`."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.getpid()}.tmp")


def sweep_drafts(path: str, suffix: str = ".tmp") -> None:
    """What killed processes left of their attempts to replace this very file. For directories that are not
    ours; the state directory is swept as a whole."""
    folder, name = os.path.split(path)
    prefix = f".{name}."
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for found in names:
        pid = found[len(prefix):-len(suffix)]
        if found == f"{prefix}{pid}{suffix}" and pid.isdigit() and process_start(int(pid)) is None:
            _unlink_quietly(os.path.join(folder, found))


def write_atomic(path: str, data: bytes, *, mode: int = PRIVATE_FILE, sync: bool = True) -> None:
    """Replace `path` by a file with these bytes; a crash leaves the old one or the new one."""
    folder, temp = os.path.dirname(path), draft_of(path)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_FOLLOW, mode)
    try:
        try:
            write_all(fd, data)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        keep_owner(temp, folder)
        os.replace(temp, path)
    except BaseException:
        _unlink_quietly(temp)
        raise
    if sync:
        fsync_dir(folder)


def _unlink_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the first error is the one to report; a leftover is swept by the next command


def read_bounded(path: str, limit: int) -> bytes:
    """The content of a regular file of ours; what is planted there (a FIFO, a huge file) is refused."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _NO_FOLLOW)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise RewindError(f"{path} is not a regular file.")
        if info.st_size > limit:
            raise RewindError(f"{path} is {info.st_size} bytes long; at most {limit} make sense.")
        chunks = []
        asked = max(info.st_size, 4095) + 1  # one more, to see its end at once; it may grow meanwhile
        while limit >= 0:
            chunk = os.read(fd, asked)
            chunks.append(chunk)
            if len(chunk) < asked:
                break
            limit -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def process_start(pid: int) -> str | None:
    """A token that tells this life of a pid from the next one; None when no such process lives."""
    try:
        fields = _status_of(pid)
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
    except OSError:
        return None
    return _process_start_by_ps(pid)


def is_unburied(pid: int) -> bool:
    """Whether this process has ended, and its end was never asked for: in a container whose first process is
    not made for that, it stays in the list of processes."""
    try:
        return _status_of(pid)[0] == b"Z"
    except OSError:
        return False


def _status_of(pid: int) -> list[bytes]:
    """What the kernel says of it, behind its name, which may hold anything."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _process_start_by_ps(pid: int) -> str | None:
    import subprocess

    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
    return done.stdout.decode("ascii", "replace").strip() or None


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


_NETWORK_TYPES = ("nfs", "cifs", "smb", "afs", "ceph", "9p", "fuse", "lustre", "gfs", "ocfs",
                  "glusterfs", "beegfs", "gpfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "webdav")


def on_local_disk(path: str) -> bool:
    """False when the directory may be shared with another machine, where SQLite's WAL is unsafe."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            mounts = [line.split(b" ") for line in file.read().splitlines()]
    except OSError:
        return _on_local_disk_by_mount(path)
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}".encode()
    kinds = {m[m.index(b"-") + 1].decode() for m in mounts if m[2] == wanted and b"-" in m}
    return bool(kinds) and not any(kind.startswith(_NETWORK_TYPES) for kind in kinds)


def _on_local_disk_by_mount(path: str) -> bool:
    import subprocess

    try:
        done = subprocess.run(["df", "-l", path], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0  # `df -l` fails for a path that is not on a local file system


_SIGNED = 64  # bytes in a lock's file that say who has it


class Lock:
    """One writer at a time. The kernel drops the lock with its process, so none is ever stale.

    Upkeep takes it for a moment, again and again, and would win every time against somebody who only looks
    now and then. So whoever waits stands `in_line` (`WaitingLine`), and `upkeep` does not take the lock
    while somebody does.
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

    def is_had(self) -> bool:
        """Like `with`, but it says at once whether the lock could be had, and costs little to ask again."""
        if self.fd < 0:
            self._open()
        if not self._try():
            return False
        self._sign()
        return True

    def _open(self) -> None:
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, PRIVATE_FILE)
        keep_owner(self.path, os.path.dirname(self.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._claim:
            _unlink_quietly(self._claim)
            self._claim = None
            if self.upkeep:  # without flock nobody is seen in line; in so long a time, everybody looks once
                time.sleep(_LOOK_AGAIN_LATER)
        if self.fd >= 0:
            _unlock(self.fd)
            os.close(self.fd)
            self.fd = -1

    def now_ns(self) -> int:
        """The file system's own clock, which need not agree with this machine's."""
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
        """For file systems without flock: a claim file that names host, boot and process."""
        claim = self.path + ".claim"
        if self._put_claim(claim):
            return True
        if not is_dead_claim(claim):
            return False
        # Moved aside, not deleted: of several who find it dead only one succeeds in that, and a
        # living claim that came in between is put back by whoever moved it.
        aside = f"{claim}.{os.getpid()}"
        try:
            os.rename(claim, aside)
        except FileNotFoundError:
            return False
        if not is_dead_claim(aside):
            os.rename(aside, claim)
            return False
        _unlink_quietly(aside)
        return self._put_claim(claim)

    def _put_claim(self, claim: str) -> bool:
        """A link to a finished file: a claim is never seen half written."""
        draft = f"{claim}.{os.getpid()}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_FOLLOW, PRIVATE_FILE)
        try:
            pid = os.getpid()
            lines = (os.uname().nodename, boot_id(), str(pid), process_start(pid) or "", self.what)
            write_all(fd, ("\n".join(lines) + "\n").encode())
            os.link(draft, claim)
        except FileExistsError:
            return False
        finally:
            os.close(fd)
            _unlink_quietly(draft)
        self._claim = claim
        return True

    def _sign(self) -> None:
        # Only for the message of whoever waits in vain: the kernel's lock is what counts, also on a
        # full disk, where a collection must still be able to begin. A line of the same length each time:
        # to cut a file takes a file system longer than all the rest of this.
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
        return False  # another machine's process cannot be seen from here: wait for it
    return boot != boot_id() or living != start


class WaitingLine:
    """Who waits for a lock: each holds a shared lock on a second file beside it, and the kernel takes that
    away with its process, on another machine as well.

    It is a courtesy: where it cannot be written, or without flock, everybody still gets the lock, only later.
    """

    def __init__(self, path: str) -> None:
        self.path = path + ".waiting"
        self.fd = -1

    def join(self) -> None:
        """Until `leave`. Not at once, perhaps: somebody may be looking whether there is anybody."""
        if self.fd >= 0:
            return
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, PRIVATE_FILE)
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
            fd = os.open(self.path, os.O_RDWR | _NO_FOLLOW)
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
    """Whether somebody has this lock right now, or waits for it. For upkeep, which then rests."""
    if not WaitingLine(path).is_empty():
        return True
    why = _why_not_shared(path, os.O_RDWR)
    return why is not None and (why not in _NO_FLOCK or not is_dead_claim(path + ".claim"))


def is_locked(path: str) -> bool:
    """Whether another program holds its own lock file. Looking takes a shared lock for an instant."""
    return _why_not_shared(path, os.O_RDONLY | os.O_NONBLOCK) in (errno.EWOULDBLOCK, errno.EACCES)


def _why_not_shared(path: str, mode: int) -> int | None:
    """The error with which a shared lock is refused; None where it is had, or there is no such file."""
    try:
        fd = os.open(path, mode | _NO_FOLLOW)
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
    # Closing is not enough: a forked child that still lives has the same lock through its copy.
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        pass  # a file system without flock; the claim file was what counted


def close_all_but(*kept: int) -> None:
    """Close what this process inherited or opened, except for the standard streams and these."""
    try:
        found = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        found = list(range(_MOST_DESCRIPTORS))
    for fd in found:
        if fd > 2 and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # the one by which the list was read


def detach(*kept: int) -> None:
    """Nothing of whoever started us: a session and a working directory of its own, and no descriptor but
    these. Who reads a pipe until its end waits for everybody who has it open, whatever its number."""
    os.setsid()
    drop_streams()
    close_all_but(*kept)
    os.chdir("/")


def leave_session() -> None:
    """Whoever kills the group that we were started in does not mean us any more."""
    try:
        os.setsid()
    except OSError:
        pass  # the first of its group, so nobody else's


def drop_streams(*more: int) -> None:
    """The standard streams lead nowhere from here on, nor do these."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2, *more):
        os.dup2(null, fd)
    os.close(null)


def spawn_detached(arguments: list[str]) -> None:
    """Start this interpreter on `arguments`, tied to nothing of ours. Names in them must be full paths."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        detach()
        if os.fork():
            os._exit(0)
        os.execv(sys.executable, [sys.executable, *arguments])
    finally:
        os._exit(1)
