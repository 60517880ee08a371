"""Which files of a checkpoint leave this machine, and why others do not: secrets, ignored files, links that
lead out of the project. What is left out is `uncovered` in the trees, so it does not look deleted."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewind.checkpoint.share.giving import secret_file_names
from rewind.checkpoint.share.giving.find_secrets import LARGEST, find_secrets, line_of
from rewind.checkpoint.share.path_names import case_clashes
from rewind.paths import is_state_path
from rewind.project_marker import IN_AGENT
from rewind.snapshot.rules.reason_codes import Reasons
from rewind.snapshot.rules.rules import IGNORE_NAMES, NORMAL, Rules, RuleTree
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.tree import DIR, FILE, FILES, LINK, UNCOVERED, Tree, TreeEntry, is_git_dir
from rewind.store.blobs import CHUNK

if TYPE_CHECKING:
    from rewind.store.blobs import Blobs

_SHOWN = 20  # secrets of one file that are listed


@dataclass(eq=False)
class LeftOut:
    """A path that is not shared. For a secret, `kinds` are (kind, line); line 0 means the file's name."""

    path: bytes
    reason: bytes
    kinds: tuple[tuple[str, int], ...] = ()


@dataclass(eq=False)
class Policy:
    """What the person allowed to be shared. By default, neither secrets nor ignored files are."""

    with_secrets: bool = False
    with_ignored: bool = False


class SecretFinder:
    """Finds secrets in files. Each content is read once, however many checkpoints have it."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], tuple[tuple[str, int], ...]] = {}

    def kinds(self, path: bytes, entry: TreeEntry, blobs: Blobs) -> tuple[tuple[str, int], ...]:
        # Only the name of the file matters, and for most names not even that.
        key = (entry.ref, secret_file_names.name_that_matters(path))
        if key not in self._known:
            self._known[key] = self._scan(path, entry, blobs)
        return self._known[key]

    def _scan(self, path: bytes, entry: TreeEntry, blobs: Blobs) -> tuple[tuple[str, int], ...]:
        if entry.size > LARGEST:
            return ()
        data = whole(entry, blobs)
        by_both = secret_file_names.secret_by_name_and_content(path, data)
        if by_both:
            return ((by_both, 0),)
        return tuple((one.kind, line_of(data, one.start))
                     for one in find_secrets(data, secret_file_names.is_lock_file(path))[:_SHOWN])


class SharedTree:
    """The tree of one checkpoint as others will see it."""

    def __init__(self, root: bytes, trees: Callable[[bytes], Tree], blobs: Blobs, rules: Rules,
                 policy: Policy, finder: SecretFinder, like: SharedTree | None = None) -> None:
        """`like` is another tree, whose rules are used again if they are the same."""
        self.root = root
        self.raw = trees
        self.blobs = blobs
        self._rules = rules
        self._policy = policy
        self._secrets = finder
        same = like._rule_tree if like and like._rules.digest == rules.digest else None
        self._rule_tree: RuleTree = RuleTree(rules, self._ignore_file, lambda folder: None, like=same)
        self._folders: dict[bytes, Tree] = {b"": trees(root)}
        self._envs: dict[bytes, bytes] = {b"": self._env_of(rules.digest, trees(root))}
        self._judged: dict[bytes, dict[bytes, TreeEntry]] = {}

    def env(self, folder: bytes) -> bytes:
        """The ignore files that decide about this directory. If two checkpoints agree in them and in its
        tree, they share the same of it."""
        found = self._envs.get(folder)
        if found is None:
            above = folder.rpartition(b"/")[0]
            found = self._envs[folder] = self._env_of(self.env(above), self._raw_at(folder))
        return found

    def _env_of(self, above: bytes, tree: Tree) -> bytes:
        own = [tree.entries[name].ref for name in IGNORE_NAMES if name in tree.entries]
        return above if not own or self._policy.with_ignored else above + b"".join(own)

    def _raw_at(self, folder: bytes) -> Tree:
        found = self._folders.get(folder)
        if found is None:
            above, _, name = folder.rpartition(b"/")
            entry = self._raw_at(above).entries.get(name)
            found = self.raw(entry.ref) if entry and entry.kind == DIR else Tree({})
            self._folders[folder] = found
        return found

    def raw_entry(self, folder: bytes, name: bytes) -> TreeEntry | None:
        return self._raw_at(folder).entries.get(name)

    def _ignore_file(self, folder: bytes, name: bytes) -> bytes:
        entry = self.raw_entry(folder, name)
        return self.blobs.get(entry.ref) if entry and entry.kind == FILE and entry.size <= CHUNK else b""

    def listing(self, folder: bytes, oid: bytes, without: frozenset[bytes] = frozenset()) -> Tree:
        """The entries of one directory, except the names in `without`. What is not shared is `uncovered`.
        Subdirectories keep the ids that they have in the store, because their content is not judged yet."""
        raw = self._folders[folder] = self.raw(oid)
        judged = self._judged.setdefault(folder, {})
        for name, entry in raw.entries.items():
            if name not in judged and name not in without and not is_git_dir(name) \
                    and not is_own(folder + b"/" + name if folder else name):
                reason = self.why(folder, name, entry)[0]
                judged[name] = TreeEntry(UNCOVERED, 0, 0, reason) if reason else entry
        entries = {name: entry for name, entry in judged.items() if name not in without}
        for _, name in case_clashes(entries):
            entries[name] = TreeEntry(UNCOVERED, 0, 0, Reasons.NOT_SHARED)
        return Tree(entries, raw.partial)

    def why(self, folder: bytes, name: bytes, entry: TreeEntry) -> tuple[bytes, tuple[tuple[str, int], ...]]:
        """The reason why an entry is left out, with its secrets; empty if it is shared."""
        path = folder + b"/" + name if folder else name
        if entry.kind == UNCOVERED:
            return b"", ()
        if entry.kind in FILES and not self._policy.with_secrets:
            by_name = secret_file_names.secret_by_name(path)
            if by_name:
                return Reasons.SECRET, ((by_name, 0),)
        if not self._policy.with_ignored and self._rule_tree.classify(
                folder, name, entry.kind == DIR) != NORMAL:
            return Reasons.IGNORED, ()
        if entry.kind == LINK and _leaves(path, entry.ref):
            return Reasons.LINK_OUT, ()
        if entry.kind in FILES and not self._policy.with_secrets:
            kinds = self._secrets.kinds(path, entry, self.blobs)
            return (Reasons.SECRET, kinds) if kinds else (b"", ())
        return b"", ()


def is_own(path: bytes) -> bool:
    """Whether a path belongs to Rewind: a store, or the marker of one. It is never shared."""
    return is_state_path(path) or path == os.fsencode(IN_AGENT)


def _leaves(path: bytes, target: bytes) -> bool:
    """Whether a link leads out of the project, or to git's own files."""
    from rewind.store.archive import leads_out

    return leads_out(path, target) or any(is_git_dir(part) for part in target.split(b"/"))
