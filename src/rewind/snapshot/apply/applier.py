"""Makes the changes of a plan: all content is staged first, then moved into place.

Nothing is ever written through a symbolic link: each directory is opened component by component without
following links, and every change is made relative to that descriptor.
"""

from __future__ import annotations

import errno
import os
import stat

from rewind.errors import ChangedSincePlan
from rewind.files import chmod_no_follow, make_private_dir, write_all
from rewind.paths import temp_name
from rewind.snapshot.apply.replaced import ReplacedFiles
from rewind.snapshot.apply.swap import exchange, rename_to_free_name
from rewind.snapshot.scan.read import UNREADABLE, read_file
from rewind.snapshot.trees.content import pieces_of
from rewind.snapshot.trees.tree import DIR, FILES, LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.trees.change import Change
    from rewind.snapshot.trees.tree import TreeEntry
    from rewind.store.blobs import Blobs, BlobSink

    Progress = Callable[[str, int, int], None]

_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_DIRS = 64
_CLOCK_SLACK_NS = 2_000_000_000
_CHANGED = "it changed while the restore was running"
_LINK_IN_THE_WAY = "one of its parent directories is a symbolic link now"


class Applied:
    """What could not be done, as (path, reason), and the directories that were not empty."""

    def __init__(self) -> None:
        self.failed: list[tuple[bytes, str]] = []
        self.not_empty: list[bytes] = []
        self.replaced: dict[bytes, TreeEntry] = {}  # content that the plan did not know about


class Applier:
    def __init__(self, root: bytes, blobs: Blobs, staging: str, scanned_ns: int,
                 progress: Progress | None = None, sink: BlobSink | None = None) -> None:
        """`sink` gets what somebody wrote to a file right before or while it was replaced."""
        self.root = root
        self.blobs = blobs
        self.staging = os.fsencode(staging)
        self.unchanged_before = scanned_ns - _CLOCK_SLACK_NS
        self.progress = progress or (lambda what, done, total: None)
        self.done = Applied()
        self._fds: dict[bytes, int] = {}
        self._staged: dict[bytes, bytes] = {}
        self._written: dict[tuple[int, int], bytes] = {}  # (device, inode) -> path
        self._made_writable: dict[bytes, int] = {}  # directory that is writable for a moment -> its own mode
        self._to_clear: set[bytes] = set()  # paths that must be removed so that others can take their place
        self._cleared: set[bytes] = set()  # those that have been removed
        self._replaced = ReplacedFiles(sink) if sink else None

    def prepare(self, changes: list[Change]) -> None:
        """Check every path once more and stage all content. The tree is not changed yet."""
        self._to_clear = {c.path for c in changes if c.in_the_way}
        try:
            moved = [c.path for c in changes if not self._matches_plan(c)]
            if moved:
                raise ChangedSincePlan(paths=", ".join(os.fsdecode(p) for p in dict.fromkeys(moved[:5])))
            self._stage([c for c in changes if c.target and c.action == "write"])
        except BaseException:
            self.clean_up()
            raise

    def run(self, changes: list[Change]) -> Applied:
        """Make the changes, in an order in which the place of each is ready."""
        try:
            order = sorted(changes, key=_order)
            for number, change in enumerate(order):
                self._make(change)
                self.progress("Writing files", number + 1, len(order))
            self._set_final_modes(changes)
            if self._replaced:
                self._replaced.finish()
                self.done.replaced = self._replaced.found
        finally:
            self.clean_up()
        return self.done

    def find_mismatches(self, changes: list[Change]) -> list[bytes]:
        """Check every changed path once more. Returns those that are not as planned."""
        wanted = {change.path: change for change in changes if not change.in_the_way}
        wanted.update((change.path, change) for change in changes if change.target)
        opened_up, self._made_writable = self._made_writable, {}
        try:
            found = [path for path, mode in opened_up.items()
                     if path not in wanted and not self._has_mode(path, mode)]
            # A directory comes before its content, for which it may have to be made readable once more.
            return found + [path for path in sorted(wanted) if not self._matches_target(wanted[path])]
        finally:
            self._set_modes(self._made_writable)
            self.clean_up()

    def clean_up(self) -> None:
        if self._replaced:
            self._replaced.close()
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
        if os.path.isdir(self.staging):
            for name in os.listdir(self.staging):
                os.unlink(os.path.join(self.staging, name))
            os.rmdir(self.staging)

    # staging

    def _stage(self, writes: list[Change]) -> None:
        make_private_dir(os.fsdecode(self.staging))
        for number, change in enumerate(writes):
            assert change.target
            if change.target.kind in FILES:
                path = os.path.join(self.staging, b"%d" % number)
                self._write_new(path, change.target)
                self._staged[change.path] = path
            self.progress("Preparing files", number + 1, len(writes))

    def _write_new(self, path: bytes, entry: TreeEntry, dir_fd: int | None = None,
                   owner: os.stat_result | None = None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o600, dir_fd=dir_fd)
        try:
            for piece in pieces_of(entry, self.blobs):
                write_all(fd, piece)
            if owner:
                os.fchown(fd, owner.st_uid, owner.st_gid)
            os.fchmod(fd, entry.mode)
        finally:
            os.close(fd)

    # one change

    def _make(self, change: Change) -> None:
        try:
            if not self._matches_plan(change):
                self._fail(change, _CHANGED)
                return
            getattr(self, "_" + change.action)(change)
            if change.in_the_way:
                self._cleared.add(change.path)
        except OSError as error:
            self._fail(change, _reason(error))

    def _fail(self, change: Change, reason: str) -> None:
        self.done.failed.append((change.path, reason))

    def _write(self, change: Change) -> None:
        assert change.target
        folder, name = os.path.split(change.path)
        self._with_retry(folder, lambda fd: self._put(fd, name, change))
        info = os.stat(name, dir_fd=self._dir(folder), follow_symlinks=False)
        self._written[info.st_dev, info.st_ino] = change.path

    def _put(self, fd: int, name: bytes, change: Change) -> None:
        assert change.target
        if change.target.kind == LINK:
            temp = os.fsencode(temp_name())
            os.symlink(change.target.ref, temp, dir_fd=fd)
            self._rename_over(temp, name, fd, change)
            return
        staged = self._staged[change.path]
        self._keep_owner(staged, fd, name, change.target.mode)
        try:
            self._move(staged, None, name, fd, change)
        except OSError as error:
            if error.errno == errno.EBUSY:
                self._write_in_place(fd, name, change)
            elif error.errno == errno.EXDEV:
                self._put_beside(fd, name, change)
            else:
                raise

    def _move(self, new: bytes, new_dir: int | None, name: bytes, fd: int, change: Change) -> None:
        """Move the new content to its name, and check what was there until then."""
        if self._is_free(name, fd, change):
            rename_to_free_name(new, name, new_dir, fd)
        elif (change.path in self._cleared or change.before is None
              or not exchange(new, name, new_dir, fd)):
            # The name is another spelling of one of ours, or the system cannot exchange two names.
            held = self._replaced.open_old(change, name, fd) if self._replaced else None
            try:
                os.rename(new, name, src_dir_fd=new_dir, dst_dir_fd=fd)
            except BaseException:
                _close(held)
                raise
            if self._replaced:
                self._replaced.compare_old(change, held)
        else:
            self._delete_old(new, new_dir, name, fd, change)

    def _is_free(self, name: bytes, fd: int, change: Change) -> bool:
        """Whether nothing is there, as planned. Then no file is replaced, even if one appears in this
        moment."""
        if change.before is not None and change.path not in self._cleared:
            return False
        try:
            os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return True
        return False

    def _delete_old(self, old: bytes, old_dir: int | None, name: bytes, fd: int, change: Change) -> None:
        """Check what was at `name`, which is called `old` now, and delete it."""
        if stat.S_ISDIR(os.stat(old, dir_fd=old_dir, follow_symlinks=False).st_mode):
            if change.action == "delete":
                rename_to_free_name(old, name, old_dir, fd)
            else:
                exchange(old, name, old_dir, fd)
            raise OSError(errno.EISDIR, _CHANGED)
        held = self._replaced.open_old(change, old, old_dir) if self._replaced else None
        os.unlink(old, dir_fd=old_dir)
        if self._replaced:
            self._replaced.compare_old(change, held)

    def _put_beside(self, fd: int, name: bytes, change: Change) -> None:
        assert change.target
        entry = change.target
        temp = os.fsencode(temp_name())
        try:
            # The owner is set through the descriptor, because the name may belong to another file by now.
            self._write_new(temp, entry, fd, self._owner(fd, name) if os.geteuid() == 0 else None)
        except BaseException:
            _unlink_if_there(temp, fd)
            raise
        try:
            self._rename_over(temp, name, fd, change)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            self._write_in_place(fd, name, change)

    def _rename_over(self, temp: bytes, name: bytes, fd: int, change: Change) -> None:
        try:
            self._move(temp, fd, name, fd, change)
        except OSError:
            _unlink_if_there(temp, fd)
            raise

    def _write_in_place(self, fd: int, name: bytes, change: Change) -> None:
        # A file that is itself a mount point (a bind mount) can be written to but not replaced.
        assert change.target
        entry = change.target
        if self._replaced:
            self._replaced.compare_in_place(change, name, fd)
        file = os.open(name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, dir_fd=fd)
        try:
            for piece in pieces_of(entry, self.blobs):
                write_all(file, piece)
            os.fchmod(file, entry.mode)
        finally:
            os.close(file)

    def _keep_owner(self, staged: bytes, fd: int, name: bytes, mode: int) -> None:
        """If root restores a file, it gets the owner of what it replaces (or of its directory)."""
        if os.geteuid() != 0:
            return
        info, own = self._owner(fd, name), os.stat(staged)
        if (info.st_uid, info.st_gid) != (own.st_uid, own.st_gid):
            os.chown(staged, info.st_uid, info.st_gid)
            os.chmod(staged, mode)  # chown drops the set-id bits

    def _owner(self, fd: int, name: bytes) -> os.stat_result:
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return os.fstat(fd)

    def _mkdir(self, change: Change) -> None:
        folder, name = os.path.split(change.path)
        self._with_retry(folder, lambda fd: os.mkdir(name, 0o700, dir_fd=fd))
        if os.geteuid() == 0:
            info = os.fstat(self._dir(folder))
            os.chown(name, info.st_uid, info.st_gid, dir_fd=self._dir(folder), follow_symlinks=False)

    def _delete(self, change: Change) -> None:
        folder, name = os.path.split(change.path)
        fd = self._dir(folder)
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
        twin = self._written.get((info.st_dev, info.st_ino))
        if twin is not None:
            # On a case-insensitive file system this is another spelling of a file that was just restored.
            # Deleting it would delete that file. Only its name has to be corrected.
            if os.path.dirname(twin) == folder:
                os.rename(name, os.path.basename(twin), src_dir_fd=fd, dst_dir_fd=fd)
            return
        self._with_retry(folder, lambda fd: self._rename_and_delete(fd, name, change))

    def _rename_and_delete(self, fd: int, name: bytes, change: Change) -> None:
        """It is renamed first, so that the file that is checked is the one that is deleted."""
        if self._replaced is None:
            os.unlink(name, dir_fd=fd)
            return
        away, away_dir = os.path.join(self.staging, b"away"), None
        try:
            os.rename(name, away, src_dir_fd=fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            away, away_dir = os.fsencode(temp_name()), fd
            os.rename(name, away, src_dir_fd=fd, dst_dir_fd=fd)
        self._delete_old(away, away_dir, name, fd, change)

    def _rmdir(self, change: Change) -> None:
        folder, name = os.path.split(change.path)
        self._forget_dir(change.path)
        try:
            self._with_retry(folder, lambda fd: os.rmdir(name, dir_fd=fd))
        except OSError as error:
            # It contains a repository's `.git`, or a file that was made just now. That stays.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or change.in_the_way:
                raise
            self.done.not_empty.append(change.path)

    def _chmod(self, change: Change) -> None:
        assert change.target
        if change.target.kind == DIR:
            return  # directories get their modes last, when nothing is written into them any more
        folder, name = os.path.split(change.path)
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._dir(folder))
        try:
            os.fchmod(file, change.target.mode)
        finally:
            os.close(file)

    def _set_final_modes(self, changes: list[Change]) -> None:
        modes = dict(self._made_writable)
        modes.update((c.path, c.target.mode) for c in changes
                     if c.target and c.target.kind == DIR and c.action in ("mkdir", "chmod"))
        self._set_modes(modes)

    def _set_modes(self, modes: dict[bytes, int]) -> None:
        for path in sorted(modes, key=lambda p: p.count(b"/") + bool(p), reverse=True):
            try:
                os.fchmod(self._dir(path), modes[path])
            except OSError as error:
                if error.errno != errno.ENOENT or path not in self._made_writable:
                    self.done.failed.append((path, _reason(error)))

    # the state before

    def _matches_plan(self, change: Change) -> bool:
        folder, name = os.path.split(change.path)
        if self._is_cleared_by_us(change):
            return True
        try:
            info = os.stat(name, dir_fd=self._dir(folder), follow_symlinks=False)
        except FileNotFoundError:
            return change.before is None
        except OSError:
            return False
        if change.before is None:
            return self._is_known_file(info, change)
        kind = stat.S_IFMT(info.st_mode)
        if change.before.kind == DIR:
            return kind == stat.S_IFDIR
        if change.before.kind == LINK:
            if kind != stat.S_IFLNK:
                return False
            return os.readlink(name, dir_fd=self._dir(folder)) == change.before.ref
        if kind != stat.S_IFREG or info.st_size != change.before.size:
            return False
        if max(info.st_mtime_ns, info.st_ctime_ns) < self.unchanged_before:
            return True
        read = read_file(os.path.join(self.root, change.path), None)
        return read.failure is not None or read.ref == change.before.ref

    def _is_cleared_by_us(self, change: Change) -> bool:
        """Whether we have cleared its place, or will do so. Then what is there now need not match the
        plan."""
        if change.path in self._cleared and not change.in_the_way:
            return True
        above = os.path.dirname(change.path)
        while above:
            if above in self._to_clear:
                return above not in self._cleared and not change.in_the_way
            above = os.path.dirname(above)
        return False

    def _is_known_file(self, info: os.stat_result, change: Change) -> bool:
        """Whether an unexpected name is only another spelling of a known one."""
        if (info.st_dev, info.st_ino) in self._written:
            return True
        if change.action == "mkdir":
            return stat.S_ISDIR(info.st_mode) and self._is_other_spelling(change.path)
        return self._is_other_spelling(change.path)

    def _is_other_spelling(self, path: bytes) -> bool:
        folder, name = os.path.split(path)
        names = os.listdir(os.path.join(self.root, folder))
        return name not in names and name.lower() in {n.lower() for n in names}

    # the state after

    def _matches_target(self, change: Change) -> bool:
        folder, name = os.path.split(change.path)
        target = change.target
        try:
            fd = self._dir(folder)
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if target is None:
                return (info.st_dev, info.st_ino) in self._written  # another spelling of a restored file
            if target.kind == LINK:
                return os.readlink(name, dir_fd=fd) == target.ref
        except (FileNotFoundError, NotADirectoryError):
            return target is None
        except OSError:
            return False
        if stat.S_IMODE(info.st_mode) != target.mode:
            return False
        if target.kind == DIR:
            return stat.S_ISDIR(info.st_mode)
        if change.action == "chmod":
            return stat.S_ISREG(info.st_mode) and info.st_size == target.size
        read = read_file(name, None, None, fd)
        if read.failure == UNREADABLE:  # because of its own mode, unless we are root
            return stat.S_ISREG(info.st_mode) and info.st_size == target.size
        return (read.kind, read.ref) == (target.kind, target.ref)

    def _has_mode(self, folder: bytes, mode: int) -> bool:
        try:
            info = os.lstat(os.path.join(self.root, folder))
        except OSError:
            return True  # it was deleted, as planned
        return stat.S_IMODE(info.st_mode) == mode

    # directories, opened without following links

    def _dir(self, folder: bytes) -> int:
        fd = self._fds.get(folder)
        if fd is None:
            if len(self._fds) >= _OPEN_DIRS:
                for path in [p for p in self._fds if p]:
                    os.close(self._fds.pop(path))
            fd = self._fds[folder] = self._open_dir(folder)
        return fd

    def _open_dir(self, folder: bytes) -> int:
        if not folder:
            return os.open(self.root, _DIR_FLAGS)
        above, name = os.path.split(folder)
        parent = self._dir(above)
        try:
            return os.open(name, _DIR_FLAGS, dir_fd=parent)
        except PermissionError:
            info = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(info.st_mode):
                raise
            # It is our own directory, but without read permission. Make it readable until we are done.
            chmod_no_follow(name, stat.S_IMODE(info.st_mode) | 0o700, parent)
            self._made_writable.setdefault(folder, stat.S_IMODE(info.st_mode))
            return os.open(name, _DIR_FLAGS, dir_fd=parent)

    def _forget_dir(self, folder: bytes) -> None:
        fd = self._fds.pop(folder, None)
        if fd is not None:
            os.close(fd)

    def _with_retry(self, folder: bytes, action: Callable[[int], None]) -> None:
        """Do it in a directory, which is made writable for a moment if need be."""
        try:
            action(self._dir(folder))
        except PermissionError:
            if not self._make_writable(folder):
                raise
            action(self._dir(folder))

    def _make_writable(self, folder: bytes) -> bool:
        """False if the directory was writable already."""
        fd = self._dir(folder)
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & 0o300 == 0o300:
            return False
        os.fchmod(fd, mode | 0o300)
        self._made_writable.setdefault(folder, mode)
        return True


def _close(fd: int | None) -> None:
    if fd is not None:
        os.close(fd)


def _unlink_if_there(name: bytes, fd: int) -> None:
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        pass


def _order(change: Change) -> tuple[int, int, bytes]:
    """First what is in the way, then directories from the top, files, deletions, old directories."""
    depth = change.path.count(b"/")
    if change.in_the_way:
        return (0, -depth, change.path) if change.action == "delete" else (1, -depth, change.path)
    rank = {"mkdir": 2, "write": 3, "chmod": 3, "delete": 4, "rmdir": 5}[change.action]
    return rank, -depth if change.action == "rmdir" else depth, change.path


def _reason(error: OSError) -> str:
    if error.errno == errno.EEXIST:
        return _CHANGED
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return _LINK_IN_THE_WAY
    return error.strerror or str(error)
