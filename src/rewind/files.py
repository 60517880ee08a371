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
        while limit >= 0:
            chunk = os.read(fd, 1 << 20)
            if not chunk:
                break
            chunks.append(chunk)
            limit -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def process_start(pid: int) -> str | None:
    """A token that tells this life of a pid from the next one; None when no such process lives."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
    except OSError:
        return None
    return _process_start_by_ps(pid)


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


class Lock:
    """One writer at a time. The kernel drops the lock with its process, so none is ever stale."""

    def __init__(self, path: str, what: str, wait: float = 10.0) -> None:
        self.path = path
        self.what = what
        self.wait = wait
        self.fd = -1
        self._claim: str | None = None

    def __enter__(self) -> Lock:
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, PRIVATE_FILE)
        try:
            self._acquire()
            self._sign()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._claim:
            _unlink_quietly(self._claim)
            self._claim = None
        if self.fd >= 0:
            _unlock(self.fd)
            os.close(self.fd)
            self.fd = -1

    def now_ns(self) -> int:
        """The file system's own clock, which need not agree with this machine's."""
        os.utime(self.fd)
        return os.fstat(self.fd).st_mtime_ns

    def _acquire(self) -> None:
        deadline = time.monotonic() + self.wait
        pause = 0.002
        while not self._try():
            if time.monotonic() >= deadline:
                raise Locked(holder=self._holder())
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _try(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
                raise
        return self._try_claim()

    def _try_claim(self) -> bool:
        """For file systems without flock: a claim file that names host, boot and process."""
        claim = self.path + ".claim"
        if self._put_claim(claim):
            return True
        if not self._claim_is_dead(claim):
            return False
        # Moved aside, not deleted: of several who find it dead only one succeeds in that, and a
        # living claim that came in between is put back by whoever moved it.
        aside = f"{claim}.{os.getpid()}"
        try:
            os.rename(claim, aside)
        except FileNotFoundError:
            return False
        if not self._claim_is_dead(aside):
            os.rename(aside, claim)
            return False
        _unlink_quietly(aside)
        return self._put_claim(claim)

    def _put_claim(self, claim: str) -> bool:
        """A link to a finished file: a claim is never seen half written."""
        draft = f"{claim}.{os.getpid()}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_FOLLOW, PRIVATE_FILE)
        try:
            write_all(fd, self._signature().encode())
            os.link(draft, claim)
        except FileExistsError:
            return False
        finally:
            os.close(fd)
            _unlink_quietly(draft)
        self._claim = claim
        return True

    def _claim_is_dead(self, claim: str) -> bool:
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

    def _signature(self) -> str:
        pid = os.getpid()
        lines = (os.uname().nodename, boot_id(), str(pid), process_start(pid) or "", self.what)
        return "\n".join(lines) + "\n"

    def _sign(self) -> None:
        # Only for the message of whoever waits in vain: the kernel's lock is what counts, also on a
        # full disk, where a collection must still be able to begin.
        try:
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, f"{os.getpid()} rewind {self.what}\n".encode(), 0)
        except OSError:
            pass

    def _holder(self) -> str:
        try:
            text = os.pread(self.fd, 200, 0).decode("utf-8", "replace").strip()
        except OSError:
            text = ""
        pid, _, what = text.partition(" ")
        return f"{what or 'rewind'} (process {pid or 'unknown'})"


def _unlock(fd: int) -> None:
    # Closing is not enough: a forked child that still lives has the same lock through its copy.
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        pass  # a file system without flock; the claim file was what counted


def spawn_detached(arguments: list[str]) -> None:
    """Start this interpreter on `arguments` in a session of its own, tied to nothing of ours."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execv(sys.executable, [sys.executable, *arguments])
    finally:
        os._exit(1)
