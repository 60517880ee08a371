"""Makes git commits without the user's index and work tree: with a temporary index, a temporary work tree
that holds only ignore and attribute files, and `git commit-tree`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable

from rewind.snapshot.git.run import Git

NOTHING = "0" * 40
_RULE_FILES = (b".gitattributes", b".gitignore")
_LINK, _SUBMODULE = "120000", b"160000"
# Settings of a repository that would have git write beside its index, or look into the work tree.
_PLAIN = ("core.splitIndex=false", "core.untrackedCache=false", "core.sparseCheckout=false",
          "index.sparse=false", "submodule.recurse=false")


class GitIndex:
    """`with GitIndex(top) as index:`. With `apart`, objects go to a temporary directory as well, and nothing
    is written in the repository."""

    def __init__(self, top: bytes, apart: bool = False) -> None:
        self._user = Git(top)
        self._apart = apart

    def __enter__(self) -> GitIndex:
        # Without naming the directory, so that git checks its owner.
        folder = self._user.run("rev-parse", "--absolute-git-dir").rstrip(b"\n")
        objects = self._user.run("rev-parse", "--git-path", "objects").rstrip(b"\n")
        self._temporary = os.fsencode(tempfile.mkdtemp(prefix="rewind-commit-"))
        self.work = os.path.join(self._temporary, b"work")
        os.mkdir(self.work)
        self.git = Git(self.work, settings=_PLAIN)
        self.git.env.update(GIT_DIR=os.fsdecode(folder), GIT_WORK_TREE=os.fsdecode(self.work),
                            GIT_INDEX_FILE=os.fsdecode(os.path.join(self._temporary, b"index")))
        if self._apart:
            own = os.path.join(self._temporary, b"objects")
            os.mkdir(own)
            self.git.env.update(GIT_OBJECT_DIRECTORY=os.fsdecode(own), GIT_ALTERNATE_OBJECT_DIRECTORIES=
                                os.fsdecode(os.path.join(self._user.top, objects)))
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self._temporary, ignore_errors=True)

    # what is there

    def has_commit(self, commit: str) -> bool:
        return self.git.ask("cat-file", "-e", f"{commit}^{{commit}}") is not None

    def keeps_modes(self) -> bool:
        return self.git.ask("config", "--type=bool", "core.fileMode") != b"false\n"

    def signs(self) -> bool:
        return self.git.ask("config", "--type=bool", "commit.gpgSign") == b"true\n"

    def entries(self) -> dict[bytes, bytes]:
        """Path -> mode, of the index."""
        found = {}
        for row in self.git.run("ls-files", "-s", "-z").split(b"\0"):
            about, _, path = row.partition(b"\t")
            if path:
                found[path] = about.split(b" ")[0]
        return found

    def submodules(self) -> list[bytes]:
        return [path for path, mode in self.entries().items() if mode == _SUBMODULE]

    def ignored(self, paths: Iterable[bytes]) -> set[bytes]:
        """The paths that git would not add, by the ignore files of that time or by the present ones."""
        paths = list(paths)
        if not paths:
            return set()
        index = {"GIT_INDEX_FILE": self.git.env["GIT_INDEX_FILE"]}
        # Git refuses paths below a link that is now in the place of a directory.
        now = [path for path in paths if not _is_behind_link(self._user.top, path)]
        found = self._user.ignored(_ended(now), **index) + self.git.ignored(_ended(paths))
        return {path for path in found.split(b"\0") if path}

    # making one

    def read(self, commit: str | None) -> None:
        self.git.run("read-tree", commit) if commit else self.git.run("read-tree", "--empty")

    def write_rule_files(self, files: Iterable[tuple[bytes, bytes]]) -> None:
        """Write these (path, content) ignore and attribute files, which decide how git treats the others."""
        shutil.rmtree(self.work)
        os.mkdir(self.work)
        for path, content in files:
            full = os.path.join(self.work, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(content)

    def put(self, path: bytes, content: bytes, mode: str) -> bytes:
        """Store content as git would for this path; the line for the index."""
        how = ("--no-filters",) if mode == _LINK else (b"--path=" + path,)
        oid = self.git.run("hash-object", "-w", "--stdin", *how, data=content).strip()
        return b"%s %s\t%s\0" % (mode.encode(), oid, path)

    def update(self, gone: Iterable[bytes], lines: Iterable[bytes]) -> None:
        # Deletions first: a directory may replace a file of the same name.
        data = b"".join(b"0 %s\t%s\0" % (NOTHING.encode(), path) for path in gone) + b"".join(lines)
        if data:
            self.git.run("update-index", "-z", "--index-info", data=data)

    def tree(self) -> str:
        return self.git.run("write-tree").decode().strip()

    def tree_of(self, commit: str | None) -> str | None:
        return self.git.run("rev-parse", f"{commit}^{{tree}}").decode().strip() if commit else None

    def commit(self, tree: str, parent: str | None, message: str, at: str, sign: bool) -> str:
        """The user's identity, and `at` as the author's date."""
        options = [*(["-p", parent] if parent else []), *(["-S"] if sign else [])]
        data = message.encode("utf-8", "replace")
        made = self.git.run("commit-tree", tree, *options, "-F", "-", data=data, GIT_AUTHOR_DATE=at)
        return made.decode().strip()

    def has_branch(self, name: str) -> bool:
        return self.git.ask("show-ref", "--verify", "--quiet", f"refs/heads/{name}") is not None

    def is_branch_name(self, name: str) -> bool:
        return self.git.ask("check-ref-format", "--branch", name) is not None

    def make_branch(self, name: str, commit: str) -> None:
        """Git refuses if the branch exists."""
        self.git.run("update-ref", "-m", "rewind commit", f"refs/heads/{name}", commit, NOTHING)

    def patches(self, parent: str | None, tip: str, folder: str) -> list[str]:
        which = [f"{parent}..{tip}"] if parent else ["--root", tip]
        out = self.git.run("format-patch", "--no-signature", "--no-cover-letter", "--no-ext-diff",
                           "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--no-renames",
                           "-o", folder, *which)
        return [os.fsdecode(line) for line in out.splitlines()]


def _ended(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _is_behind_link(top: bytes, path: bytes) -> bool:
    folder = os.path.dirname(path)
    while folder:
        if os.path.islink(os.path.join(top, folder)):
            return True
        folder = os.path.dirname(folder)
    return False


def is_rule_file(path: bytes) -> bool:
    return os.path.basename(path) in _RULE_FILES
