"""The private bare repository that git pushes from and fetches into. Nothing else uses it.

Its configuration is written anew whenever it is opened: a state directory may have come with a project, and
git runs commands from its configuration files.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import is_hex
from rewind.checkpoint.remote.known import Remote
from rewind.checkpoint.remote.url import SCHEMES, without_login
from rewind.checkpoint.upkeep.disk_use import REPOSITORY, bytes_below
from rewind.errors import GitFailed, RemoteFailed
from rewind.files import make_private_dir, write_atomic
from rewind.processes import process_start
from rewind.snapshot.git.run import Git

Progress = Callable[[str, int, int], None]

_SETTINGS = ("core.attributesFile=", "fetch.fsckObjects=true", "fetch.prune=false", "fetch.unpackLimit=1",
             "fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false", "fetch.bundleURI=",
             "transfer.bundleURI=false", "push.gpgSign=false", "push.followTags=false",
             "push.recurseSubmodules=no", "submodule.recurse=false", "receive.fsckObjects=true",
             "fastimport.unpackLimit=100", "init.defaultRefFormat=files")
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n"
_FEW_PACKS, _FEW_LOOSE = 2, 100  # `gc` does nothing up to these numbers
_PIECE = 1 << 16
_KILLED = (".lock", ".keep")
INCOMING = ".incoming-"  # after the name of ours: a temporary repository for one fetch


class Repository:
    def __init__(self, path: str, *, ask: bool = False) -> None:
        """`ask`: git may ask on the terminal for a password."""
        self.path = path
        self.git = Git(os.fsencode(path), settings=_SETTINGS)
        self.env = self.git.env
        for name in ("GIT_TEMPLATE_DIR", "GIT_DEFAULT_REF_FORMAT", "GIT_QUARANTINE_PATH",
                     "GIT_PUSH_OPTION_COUNT"):
            self.env.pop(name, None)
        self.env.update(GIT_DIR=path, GIT_ALLOW_PROTOCOL=":".join(SCHEMES),
                        GIT_TERMINAL_PROMPT="1" if ask else "0")
        if not ask:
            self.env["SSH_ASKPASS_REQUIRE"] = "never"

    @classmethod
    def of(cls, state: State, *, ask: bool = False) -> Repository:
        return cls(state.project.path(REPOSITORY), ask=ask)

    @property
    def exists(self) -> bool:
        return os.path.exists(os.path.join(self.path, "HEAD"))

    def open(self, remotes: Iterable[Remote] = (), *, tracks: bool = True) -> None:
        """Make it if it does not exist, and write its configuration. `tracks`: git remembers here what a push
        has sent."""
        if not self.exists:
            make_private_dir(self.path)
            self.git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", self.path)
        config = (_CONFIG + "".join(_section(remote, tracks) for remote in remotes)).encode()
        path = os.path.join(self.path, "config")
        with open(path, "rb") as file:
            if file.read(len(config) + 1) == config:
                return
        write_atomic(path, config)

    def sweep(self) -> None:
        """Remove what killed processes left. The caller holds the lock, and git's processes that write here
        hold it as well, so none of them is alive."""
        for at, _, names in os.walk(os.path.join(self.path, "refs")):
            _remove(at, [name for name in names if name.endswith(_KILLED)])
        _remove(self.path, [name for name in os.listdir(self.path)
                            if name.endswith(_KILLED) or name.startswith("fast_import_crash_")])
        packs = os.path.join(self.path, "objects", "pack")
        _remove(packs, [name for name in os.listdir(packs)
                        if name.startswith("tmp_") or name.endswith(_KILLED)])

    def sweep_incoming(self) -> None:
        """Remove the repositories of fetches that were killed. A living fetch downloads without the lock."""
        folder, name = os.path.split(self.path)
        for other in os.listdir(folder):
            before, mark, rest = other.partition(INCOMING)
            pid = rest.partition("-")[0]
            if mark and before == name and not (pid.isdigit() and process_start(int(pid)) is not None):
                Repository(os.path.join(folder, other)).remove()

    def refs(self, below: str) -> dict[str, str]:
        """Name -> commit, of the refs below a prefix."""
        out = self.git.run("for-each-ref", "--format=%(refname) %(objectname)", below)
        return dict(line.split(" ") for line in out.decode("utf-8", "replace").splitlines())

    def checkpoints(self, tip: str) -> dict[str, bytes]:
        """Id -> commit of a tip and everything before it; ancestors come first. ValueError if a commit is no
        checkpoint."""
        if not tip:
            return {}
        out = self.git.run("log", "--topo-order", "--reverse", "--format=%s %H", tip, "--")
        if not out:
            raise ValueError("a ref of it is no commit")
        found: dict[str, bytes] = {}
        for line in out.decode("utf-8", "replace").split("\n")[:-1]:
            name, _, commit = line.partition(" ")
            if not is_hex(name, 32) or not is_hex(commit, 40):
                raise ValueError("a commit of it is no checkpoint")
            found[name] = commit.encode()
        return found

    def tidy(self) -> None:
        """Each push leaves a few objects or a pack; now and then git packs them together. The caller holds
        the lock."""
        self.git.run("-c", "gc.auto=2048", "-c", "gc.autoPackLimit=20", "-c", "gc.autoDetach=false", "gc",
                     "--auto", "--quiet")

    def collect(self) -> None:
        """`git gc`, if it is worth it. The caller holds the lock, so nobody is about to use an unreferenced
        object."""
        objects = os.path.join(self.path, "objects")
        packs = sum(name.endswith(".pack") for name in os.listdir(os.path.join(objects, "pack")))
        loose = sum(len(os.listdir(os.path.join(objects, name))) for name in os.listdir(objects)
                    if len(name) == 2)
        if packs > _FEW_PACKS or loose > _FEW_LOOSE:
            self.git.run("gc", "--quiet", "--prune=now")

    def size_on_disk(self) -> int:
        return bytes_below(self.path)

    def remove(self) -> None:
        import shutil

        if os.path.isdir(self.path):
            shutil.rmtree(self.path)

    def command(self, *words: str) -> list[str]:
        return ["git", "-C", self.path, "--no-pager", *self.git._settings, *words]

    def run_with_remote(self, remote: Remote, *words: str, progress: Progress | None = None,
                        most_bytes: int = 0, data: bytes = b"") -> GitAnswer:
        """Run a command that connects to a remote, and report git's progress as ours."""
        command = self.command(*words)
        if most_bytes:
            # No file may grow larger than this, so a remote that sends without end is cut off.
            limited = f'ulimit -f {most_bytes // 512 + 1} 2>/dev/null; exec "$@"'
            command = ["sh", "-c", limited, "sh", *command]
        try:
            # Files, because a pipe could fill up while another one is read.
            with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
                given.write(data)
                given.seek(0)
                with subprocess.Popen(command, env=self.env, stdin=given, stdout=out,
                                      stderr=subprocess.PIPE) as process:
                    try:
                        err = _listen(process, progress)
                    except BaseException:
                        process.terminate()  # git can then remove its temporary files
                        process.wait()
                        raise
                out.seek(0)
                return GitAnswer(remote, words[0], process.returncode,
                                 out.read().decode("utf-8", "replace"), err)
        except OSError as error:
            raise GitFailed(command=words[0], reason=error.strerror or str(error))


class GitAnswer:
    """Git's exit code, output and error output."""

    def __init__(self, remote: Remote, command: str, code: int, out: str, err: str) -> None:
        self.remote = remote
        self.command = command
        self.code = code
        self.out = out
        self.err = without_login(err, remote.url)

    def check(self) -> None:
        if self.code:
            raise RemoteFailed(remote=self.remote.name, command=self.command, reason=self.reason())

    def reason(self) -> str:
        """The most useful line: what the remote said, or git's own first error."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        marks = ("remote: error: ", "remote: fatal: ", "fatal: ", "error: ", "remote: ", "ssh: ")
        for mark in marks:
            found = [line[len(mark):] for line in lines if line.startswith(mark)]
            if found:
                return found[0]
        return (lines or [f"it ended with status {self.code}"])[-1]


def _listen(process: subprocess.Popen[bytes], progress: Progress | None) -> str:
    """Git's error output without the lines of progress."""
    assert process.stderr
    kept: list[bytes] = []
    line = b""
    while piece := process.stderr.read1(_PIECE):  # type: ignore[attr-defined]
        *whole, line = (line + piece).replace(b"\r", b"\n").split(b"\n")
        kept += [one for one in whole if not _tell(one, progress)]
    return b"\n".join([*kept[-200:], line]).decode("utf-8", "replace")


_PHASES = {b"Writing objects": "Pushing", b"Receiving objects": "Pulling", b"Resolving deltas": "Checking"}


def _tell(line: bytes, progress: Progress | None) -> bool:
    """Whether it was a line of progress: `Writing objects:  50% (5/10), 1.2 MiB`."""
    phase, colon, rest = line.partition(b": ")
    if not colon or b"% (" not in rest:
        return False
    done, _, total = rest.partition(b"(")[2].partition(b")")[0].partition(b"/")
    if progress and phase in _PHASES and done.isdigit() and total.isdigit():
        progress(_PHASES[phase], int(done), int(total))
    return not rest.rstrip().endswith(b"done.")  # the last line, which has the total, is kept


def _section(remote: Remote, tracks: bool) -> str:
    value = remote.url.replace("\\", "\\\\").replace('"', '\\"')
    fetch = f"\tfetch = refs/rewind/*:refs/rewind/remotes/{remote.name}/*\n" if tracks else ""
    return f'[remote "{remote.name}"]\n\turl = "{value}"\n{fetch}'


def _remove(folder: str, names: list[str]) -> None:
    for name in names:
        os.unlink(os.path.join(folder, name))
