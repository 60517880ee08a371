"""The few file operations that must be exactly right: atomic writes, bounded reads, private directories.

POSIX-only calls live here, in `lock.py` and in `processes.py`, so that another platform means other versions
of these files.
"""

from __future__ import annotations

import os
import stat

from rewind.errors import RewindError
from rewind.processes import process_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int, int]  # inode, size, mtime, ctime

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700
_NETWORK_TYPES = ("nfs", "cifs", "smb", "afs", "ceph", "9p", "fuse", "lustre", "gfs", "ocfs",
                  "glusterfs", "beegfs", "gpfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "webdav")


def make_private_dir(path: str) -> None:
    """Like `os.makedirs`, but the directories above it become private as well."""
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
    """Give what root makes (`sudo rewind init`) to the owner of `like`, who could not read it otherwise."""
    if os.geteuid() == 0:
        info = os.stat(like or ".")
        if info.st_uid:
            os.chown(path, info.st_uid, info.st_gid, follow_symlinks=False)


def give_to_owner(folder: str) -> None:
    """The same for everything in a directory."""
    if os.geteuid() or not os.path.isdir(folder) or not os.stat(folder).st_uid:
        return
    for at, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(at, name)
            if not os.lstat(path).st_uid:
                keep_owner(path, folder)


def make_durable_dir(path: str) -> None:
    """Like `make_private_dir`, but the directory survives a power cut, and with it its durable files."""
    above = os.path.dirname(path)
    if not os.path.isdir(above):
        make_durable_dir(above)
    make_private_dir(path)
    fsync_dir(above)


def chmod_no_follow(name: bytes, mode: int, dir_fd: int) -> None:
    """Set the mode of a directory, never that of a link's target. The directory need not be readable."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, mode, dir_fd=dir_fd, follow_symlinks=False)
        return
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=dir_fd)
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)  # on Linux, there is no other way for an O_PATH descriptor
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
    """The name of the file that this process writes in order to replace `path`."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.getpid()}.tmp")


def sweep_drafts(path: str, suffix: str = ".tmp") -> None:
    """Remove the drafts of this file that killed processes left. For directories that are not ours; the state
    directory is swept as a whole."""
    folder, name = os.path.split(path)
    prefix = f".{name}."
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for found in names:
        pid = found[len(prefix):-len(suffix)]
        if found == f"{prefix}{pid}{suffix}" and pid.isdigit() and process_start(int(pid)) is None:
            unlink_quietly(os.path.join(folder, found))


def write_atomic(path: str, data: bytes, *, mode: int = PRIVATE_FILE, sync: bool = True,
                 draft: str = "") -> None:
    """Replace `path` with a file of these bytes. A crash leaves the old file or the new one, and perhaps a
    `draft`, which has to be swept."""
    folder, temp = os.path.dirname(path), draft or draft_of(path)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
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
        unlink_quietly(temp)
        raise
    if sync:
        fsync_dir(folder)


def unlink_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the next command sweeps it


def read_bounded(path: str, limit: int) -> bytes:
    """The content of a regular file. Something that was planted there (a FIFO, a huge file) is refused."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise RewindError(f"{path} is not a regular file.")
        if info.st_size > limit:
            raise RewindError(f"{path} is {info.st_size} bytes long; at most {limit} are read.")
        chunks = []
        asked = max(info.st_size, 4095) + 1  # one more, to see the end at once; the file may grow meanwhile
        while limit >= 0:
            chunk = os.read(fd, asked)
            chunks.append(chunk)
            if len(chunk) < asked:
                break
            limit -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def stamp_of(path: str) -> Stamp | None:
    """As long as the stamp is the same, the file need not be read again. Take it before reading, so that a
    later write counts as a change. None: there is no such file."""
    try:
        return stamp_of_stat(os.stat(path))
    except OSError:
        return None


def stamp_of_stat(info: os.stat_result) -> Stamp:
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def on_local_disk(path: str) -> bool:
    """False if the directory may be shared with another machine, which makes SQLite's WAL unsafe."""
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
