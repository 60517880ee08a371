"""Finds the ignore rules that git keeps outside of `.gitignore` files.

This only reads files. One that is unreadable, too large, or no regular file counts as absent.
"""

from __future__ import annotations

import os
import stat

from rewind.snapshot.rules import gitconfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A larger file has no effect at all. Reading only its start would be worse: a cut pattern or a missing `!`
# line would ignore more than its author meant, and ignored files may not be protected.
MAX_BYTES = 1 << 20
_KEY = b"core.excludesfile"
_INCLUDES = (b"include.path", b"includeif.*.path")
_GIT_SECONDS = 5
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG")  # set in git's hooks


def read_small(path: bytes, follow: bool = True) -> bytes:
    """A regular file's content, or nothing. Git does not follow a `.gitignore` that is a symlink, so pass
    `follow=False` for files of the work tree."""
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except (OSError, ValueError):
        return b""
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            return b""
        return _read_all(fd)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _read_all(fd: int) -> bytes:
    content = b""
    while chunk := os.read(fd, MAX_BYTES + 1 - len(content)):
        content += chunk
    return content if len(content) <= MAX_BYTES else b""


def work_tree_top(start: bytes) -> bytes | None:
    """The nearest directory, from `start` upwards, that is the top of a git work tree."""
    here = os.path.abspath(start)
    while git_dir(here) is None:
        parent = os.path.dirname(here)
        if parent == here:
            return None
        here = parent
    return here


def info_exclude(top: bytes) -> bytes:
    """The content of that work tree's `info/exclude`."""
    common = common_dir(top)
    return read_small(os.path.join(common, b"info", b"exclude")) if common else b""


def git_dir(top: bytes) -> bytes | None:
    """The work tree's own git directory. None if `top` is not the top of a work tree."""
    dot_git = os.path.join(top, b".git")
    if os.path.isdir(dot_git):
        # Git ignores a directory that only has the name, such as the empty mount of a sandbox.
        return dot_git if os.path.lexists(os.path.join(dot_git, b"HEAD")) else None
    link = read_small(dot_git)
    if not link.startswith(b"gitdir: "):
        return None
    return os.path.join(top, link[len(b"gitdir: ") :].rstrip(b"\r\n"))


def common_dir(top: bytes) -> bytes | None:
    """The git directory that all work trees of the repository share."""
    folder = git_dir(top)
    if folder is None:
        return None
    return os.path.join(folder, read_small(os.path.join(folder, b"commondir")).rstrip(b"\r\n"))


def work_trees(top: bytes) -> list[bytes]:
    """The tops of all work trees of the repository, including those that have been deleted."""
    common = common_dir(top)
    if common is None:
        return []
    common = os.path.realpath(common)
    try:
        names = os.listdir(os.path.join(common, b"worktrees"))
    except OSError:
        names = []
    found = [os.path.dirname(common)] if os.path.basename(common) == b".git" else []
    for name in names:
        folder = os.path.join(common, b"worktrees", name)
        link = read_small(os.path.join(folder, b"gitdir")).rstrip(b"\r\n")
        if link:
            found.append(os.path.realpath(os.path.join(folder, os.path.dirname(link))))
    return found


def global_excludes(home: bytes, environ: Mapping[str, str], top: bytes | None = None) -> bytes:
    """The content of the user's global excludes file, as a git in the work tree `top` sees it."""
    path = _excludes_file(home, environ, top)
    if path is None:
        return read_small(os.path.join(_xdg(home, environ), b"ignore"))
    # Git takes a relative path as seen from the top of the work tree.
    path = os.path.join(top or b"/", _expand(path, home))
    return read_small(path)


def _excludes_file(home: bytes, environ: Mapping[str, str], top: bytes | None) -> bytes | None:
    """The value of core.excludesFile. None if it is not set."""
    found = None
    includes = False
    for path in _config_files(home, environ, top):
        for key, value in gitconfig.entries(read_small(path)):
            if key == _KEY:
                found = value
            includes = includes or key in _INCLUDES
    return _ask_git(home, environ, top, found) if includes else found


def _config_files(home: bytes, environ: Mapping[str, str], top: bytes | None) -> Iterator[bytes]:
    """From the lowest precedence to the highest."""
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() in ("", "0", "false", "no", "off"):
        yield os.fsencode(environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    if "GIT_CONFIG_GLOBAL" in environ:
        yield os.fsencode(environ["GIT_CONFIG_GLOBAL"])
    else:
        yield os.path.join(_xdg(home, environ), b"config")
        yield os.path.join(home, b".gitconfig")
    common = common_dir(top) if top else None
    if common:
        yield os.path.join(common, b"config")


def _xdg(home: bytes, environ: Mapping[str, str]) -> bytes:
    base = os.fsencode(environ.get("XDG_CONFIG_HOME", "")) or os.path.join(home, b".config")
    return os.path.join(base, b"git")


def _expand(path: bytes, home: bytes) -> bytes:
    if path == b"~" or path.startswith(b"~/"):
        return home + path[1:]
    try:
        return os.path.expanduser(path)  # ~user
    except ValueError:
        return path


def _ask_git(home: bytes, environ: Mapping[str, str], top: bytes | None,
             fallback: bytes | None) -> bytes | None:
    """What git itself says, because an include can depend on branch, directory and remote."""
    import subprocess

    env = {k: v for k, v in environ.items() if k not in _MISLEADING}
    env.update(HOME=os.fsdecode(home), GIT_OPTIONAL_LOCKS="0")
    command = ["git", "config", "-z", "--type=path", "--get", "core.excludesFile"]
    try:
        done = subprocess.run(command, cwd=top or b"/", env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_GIT_SECONDS)
    except (OSError, ValueError, subprocess.SubprocessError):
        return fallback
    if done.returncode == 0:
        return done.stdout.split(b"\0")[0]
    return None if done.returncode == 1 else fallback
