"""Where Rewind's state lies, and whether a path or a pattern that someone names would reach it."""

from __future__ import annotations

import os

from rewind.hooks.wildcards import WILD, is_wild, matches, unescape

AGENT, REWIND = ".agent", "rewind"
IGNORE_FILE = ".rewindignore"
UNKNOWN = "\0"  # stands in a pattern for what only a running shell would know; no path holds it

_IN_HOME = ("system", "storage", "config.json", "known-stores.json")
_NESTED = f"/{AGENT}/{REWIND}/"
_LONGEST = 4096  # no system call takes a longer path
_MOST_LOOKS = 20_000  # a guard must not take seconds: after that many paths, the rest passes
_WILD_COST = 20  # looks


class Where:
    """A place on disk: a path without links, and below it names that may hold wildcards."""

    __slots__ = ("globs", "path")

    def __init__(self, path: str, globs: list[str]) -> None:
        self.path = path
        self.globs = globs


class Places:
    """What is guarded: the project's state, the nested projects' states, and Rewind's home.

    A pattern is a path in which `\\` takes a wildcard's meaning away.
    """

    def __init__(self, root: str, state: str, home: str) -> None:
        self.root = root
        self.state = state
        self.home = home
        self._stars_match_dots = False
        self._guarded: list[str] = []
        self._real_root = ""
        self._looks = 0
        self._reals: dict[str, str] = {}

    def start(self, stars_match_dots: bool) -> None:
        """Before each command, with what its shell was told (`shopt -s dotglob`)."""
        self._stars_match_dots = stars_match_dots
        self._looks = 0

    def guarded(self) -> list[str]:
        """Each guarded place by its real path and, where a link leads to it, by the link's as well."""
        if not self._guarded:
            self._real_root = self.real(self.root)
            named = [self.state, *(os.path.join(self.home, name) for name in _IN_HOME)]
            if self.state_in_project():
                inside = os.path.relpath(self.state, self.root)
                named.append(os.path.join(self._real_root, inside))
            found = [place for name in named for place in (self.real(name), _plain_path(name))]
            self._guarded = list(dict.fromkeys(found))
        return self._guarded

    def state_in_project(self) -> bool:
        return _is_below(_plain_path(self.state), _plain_path(self.root))

    def locate(self, pattern: str, cwd: str | None, follow: bool) -> list[Where]:
        """The places that a pattern names, seen from `cwd`; none where that cannot be told.

        `follow` is for what writes through a link; `rm` and `mv` take the link itself.
        """
        if UNKNOWN in pattern or (cwd is None and not pattern.startswith("/")):
            tail = "/" + pattern[pattern.rfind(UNKNOWN) + 1 :] + "/"
            # Whatever the directory is, this can only be meant for some project's state.
            return [Where(os.path.join(self.real(self.root), AGENT, REWIND), [])] if _NESTED in tail else []
        if not pattern or len(pattern) > _LONGEST:
            return []
        cost = 1 if WILD.isdisjoint(pattern) else _WILD_COST
        return [self._place(pattern, cwd or "/", follow)] if self.may_look(cost) else []

    def may_look(self, cost: int) -> bool:
        self._looks += cost
        return self._looks <= _MOST_LOOKS

    def _place(self, pattern: str, cwd: str, follow: bool) -> Where:
        names = pattern.split("/")
        wild = next((i for i, name in enumerate(names) if is_wild(name)), len(names))
        path = os.path.join(cwd, unescape("/".join(names[:wild])) or ("/" if wild and not names[0] else ""))
        if wild == len(names) and not follow and names[-1] not in ("", ".", ".."):
            parent, name = os.path.split(path)
            return Where(os.path.join(self.real(parent), name), [])
        place = Where(self.real(path), [])
        for name in names[wild:]:
            if name == "..":
                if place.globs:
                    place.globs.pop()
                else:
                    place.path = os.path.dirname(place.path)
            elif name not in ("", ".") and [name] != place.globs[-1:]:  # `**/**` is `**`
                place.globs.append(name)
        return place

    def real(self, path: str) -> str:
        known = self._reals.get(path)
        if known is None:
            known = self._reals[path] = self._look_up(path)
        return known

    def _look_up(self, path: str) -> str:
        if len(path) > 2 * _LONGEST:
            return _plain_path(path)
        try:
            return os.path.realpath(path)
        except (OSError, ValueError, RecursionError):
            return _plain_path(path)

    def holds(self, where: Where) -> bool:
        """Whether this is a guarded place or lies in one."""
        return any(self._reach(where, place)[0] for place in self.guarded()) or self._in_nested(where)

    def lies_below(self, where: Where) -> bool:
        """Whether a guarded place lies somewhere below."""
        return bool(self.ways_down(where)) or self._above_nested(where)

    def ways_down(self, where: Where) -> list[list[str]]:
        """The names that lead from there to each guarded place below it."""
        return [way for way in (self._reach(where, place)[1] for place in self.guarded()) if way]

    def is_ignore_file(self, where: Where) -> bool:
        name = unescape(where.globs[-1]) if where.globs else os.path.basename(where.path)
        return name == IGNORE_FILE and self.in_project(where.path)

    def in_project(self, path: str) -> bool:
        self.guarded()
        return path == self._real_root or _is_below(path, self._real_root)

    def is_around_project(self, path: str) -> bool:
        """Whether this is the project's top or a directory that the project is in."""
        self.guarded()
        return path == self._real_root or _is_below(self._real_root, path)

    def _reach(self, where: Where, place: str) -> tuple[bool, list[str]]:
        """Whether `where` could be in `place`; if above it, the names that lead from there to `place`."""
        if where.path == place or _is_below(where.path, place):
            return True, []
        if not _is_below(place, where.path):
            return False, []
        names = place[len(where.path.rstrip("/")) + 1 :].split("/")
        return self._match(where.globs, names) if where.globs else (False, names)

    def _match(self, globs: list[str], names: list[str]) -> tuple[bool, list[str]]:
        """All ways to spread the globs over the names at once: `**` stands for any number of them."""
        at = _with_skips({0}, globs)
        for i, name in enumerate(names):
            after = set()
            for glob in at - {len(globs)}:
                if globs[glob] == "**" and (self._stars_match_dots or name[0] != "."):
                    after.add(glob)
                if matches(globs[glob], name, self._stars_match_dots):
                    after.add(glob + 1)
            at = _with_skips(after, globs)
            if len(globs) in at and i < len(names) - 1:
                return False, names[i + 1 :]
        return bool(at), []

    def _in_nested(self, where: Where) -> bool:
        if not self.in_project(where.path):
            return False
        below = "/".join([where.path[len(self._real_root) :], *where.globs])
        return _NESTED in below + "/"

    def _above_nested(self, where: Where) -> bool:
        if where.globs or not _is_below(where.path, self._real_root):
            return False
        inside = [REWIND] if os.path.basename(where.path) == AGENT else [AGENT, REWIND]
        try:
            return os.path.lexists(os.path.join(where.path, *inside))
        except ValueError:
            return False


def _is_below(path: str, top: str) -> bool:
    return path.startswith(top.rstrip("/") + "/") and path != top


def _plain_path(path: str) -> str:
    return os.path.normpath(os.path.join("/", path))


def _with_skips(at: set[int], globs: list[str]) -> set[int]:
    reached = set(at)
    reached.update(i + 1 for i in at if globs[i : i + 1] == ["**"])
    return reached
