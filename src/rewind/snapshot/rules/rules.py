"""What is protected: the built-in list, ignore files, limits and pins, as one value.

`Rules` is everything outside of the project itself. It is stored with each checkpoint, so that a later
restore knows what was ignored then. `RuleTree` adds the ignore files in the directories, from the disk or
from a stored tree.
"""

from __future__ import annotations

import os

from rewind.fast import quickjson
from rewind.fast.blake2 import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rewind.snapshot.rules.ignore import Chain

NORMAL, IGNORED, NEVER = 0, 1, 2
GITIGNORE = b".gitignore"
REWINDIGNORE = b".rewindignore"
IGNORE_NAMES = (GITIGNORE, REWINDIGNORE)
MB = 1 << 20


class Rules:
    """The rules from outside the project: settings, built-in list, git's outer excludes, pins."""

    __slots__ = ("builtin", "digest", "dir_bytes", "dir_files", "excludes", "file_bytes", "forced",
                 "hidden", "max_bytes", "outer", "pins", "places", "policy", "prefix")

    def __init__(self, *, builtin: bytes, excludes: bytes = b"", prefix: bytes = b"",
                 outer: Iterable[tuple[bytes, bytes]] = (), policy: str = "small",
                 file_bytes: int = MB, dir_files: int = 500, dir_bytes: int = 10 * MB,
                 max_bytes: int = 100 * MB, pins: Iterable[bytes] = (),
                 forced: Iterable[bytes] = (), hidden: Iterable[bytes] = (),
                 places: Iterable[bytes] = ()) -> None:
        self.builtin = builtin
        self.excludes = excludes  # the user's global excludes
        self.prefix = prefix  # where the project is below the top of the git work tree
        self.outer = tuple(outer)  # (prefix, text): info/exclude and .gitignore files above us
        self.policy = policy
        self.file_bytes = file_bytes
        self.dir_files = dir_files
        self.dir_bytes = dir_bytes
        self.max_bytes = max_bytes
        self.pins = frozenset(pins)
        self.forced = frozenset(forced)  # captured despite all rules and limits
        self.places = frozenset(places)  # other work trees that are inside this one
        # Rewind's own directories, if they are inside the project, and the other places
        self.hidden = frozenset(hidden) | self.places
        self.digest = digest(self.to_json(with_pins=False))

    def with_forced(self, paths: Iterable[bytes]) -> Rules:
        names = [s for s in self.__slots__ if s not in ("digest", "forced")]
        return Rules(forced=self.forced | frozenset(paths), **{n: getattr(self, n) for n in names})

    def to_json(self, *, with_pins: bool = True) -> bytes:
        value = {
            "format": 1, "builtin": text_of(self.builtin), "excludes": text_of(self.excludes),
            "prefix": text_of(self.prefix),
            "outer": [[text_of(prefix), text_of(text)] for prefix, text in self.outer],
            "ignored": self.policy, "fileBytes": self.file_bytes, "dirFiles": self.dir_files,
            "dirBytes": self.dir_bytes, "maxBytes": self.max_bytes,
            "hidden": sorted(text_of(p) for p in self.hidden),
            "pins": sorted(text_of(p) for p in self.pins) if with_pins else [],
        }
        return quickjson.dumps(value, sort_keys=True).encode()

    @classmethod
    def from_json(cls, blob: bytes) -> Rules:
        v = quickjson.loads(blob)
        return cls(builtin=bytes_of(v["builtin"]), excludes=bytes_of(v["excludes"]),
                   prefix=bytes_of(v["prefix"]),
                   outer=[(bytes_of(p), bytes_of(t)) for p, t in v["outer"]], policy=v["ignored"],
                   file_bytes=v["fileBytes"], dir_files=v["dirFiles"], dir_bytes=v["dirBytes"],
                   max_bytes=v["maxBytes"], pins=map(bytes_of, v["pins"]),
                   hidden=map(bytes_of, v["hidden"]))


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class RuleTree:
    """Rules and the ignore files inside the project. It knows what applies to any directory in it."""

    def __init__(self, rules: Rules, read: Callable[[bytes, bytes], bytes],
                 nested_exclude: Callable[[bytes], bytes | None],
                 adds_none: Callable[[bytes], bool] = lambda folder: False,
                 like: RuleTree | None = None) -> None:
        """`like` is another one with the same rules, so that its patterns need not be parsed again."""
        self.rules = rules
        self._adds_none = adds_none  # whether a directory is known to hold no ignore file and no repository
        from rewind.snapshot.rules import ignore

        self._engine = ignore
        self._read = read  # (directory, name of an ignore file) -> its text, b"" if there is none
        self._nested_exclude = nested_exclude  # directory -> info/exclude if a repository starts there
        self._outside: tuple[Chain, Chain] = like._outside if like else self._read_outside(rules)
        self._chains: dict[bytes, tuple[Chain, Chain]] = {}

    def _read_outside(self, rules: Rules) -> tuple[Chain, Chain]:
        new = self._engine.IgnoreFile
        outside = (new(text, prefix) for prefix, text in ((rules.prefix, rules.excludes), *rules.outer))
        return ((0, new(rules.builtin)),), tuple((0, file) for file in outside if file)

    def chains(self, folder: bytes) -> tuple[Chain, Chain]:
        """(the never list, git's rules) in force for the entries of `folder`."""
        known = self._chains.get(folder)
        if known is None:
            known = self._chains[folder] = self._make_chains(folder)
        return known

    def _make_chains(self, folder: bytes) -> tuple[Chain, Chain]:
        never, git = self.chains(os.path.dirname(folder)) if folder else self._outside
        if self._adds_none(folder):
            return never, git
        new = self._engine.IgnoreFile
        base = len(folder) + 1 if folder else 0
        nested = self._nested_exclude(folder) if folder else None
        if nested is not None:
            # Git does not apply outer patterns inside a nested repository.
            git = ((base, new(self.rules.excludes)), (base, new(nested)))
        own = new(self._read(folder, GITIGNORE))
        ours = new(self._read(folder, REWINDIGNORE))
        if own:
            git += ((base, own),)
        if ours:
            never += ((base, ours),)
        return never, git

    def classify(self, folder: bytes, name: bytes, is_dir: bool) -> int:
        """The verdict on one name, assuming that its directory is not ignored."""
        never, git = self.chains(folder)
        path = folder + b"/" + name if folder else name
        if self._engine.is_ignored(never, path, is_dir):
            return NEVER
        return IGNORED if self._engine.is_ignored(git, path, is_dir) else NORMAL

    def is_on_skip_list(self, folder: bytes, name: bytes, is_dir: bool) -> bool:
        path = folder + b"/" + name if folder else name
        return self._engine.is_ignored(self.chains(folder)[0], path, is_dir)

    def ignores_path(self, path: bytes, is_dir: bool) -> bool:
        """Whether any rule ignores this path or a directory above it."""
        folder = b""
        parts = path.split(b"/")
        for part in parts[:-1]:
            if self.classify(folder, part, True) != NORMAL:
                return True
            folder = folder + b"/" + part if folder else part
        return self.classify(folder, parts[-1], is_dir) != NORMAL
