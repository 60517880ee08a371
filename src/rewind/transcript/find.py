"""The sessions of a project: where each agent keeps its sessions, and which of them belong to the project."""

from __future__ import annotations

import os
import stat

from rewind.agents.profile import holds, pick
from rewind.agents.registry import is_under_root, profiles, session_root
from rewind.errors import RewindError, SessionAmbiguous, SessionNotFound, UsageError
from rewind.transcript.layout import by_date
from rewind.transcript.names import SUFFIX, is_session_id, session_id_of
from rewind.transcript.read.lines import events_forward, open_transcript, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rewind.agents.profile import Profile

DATES, MARKED = "dates", "marked"
_LONGEST_FOLDER = 200  # Claude Code cuts a longer name there and appends a hash
_FIRST_LOOK = 8 << 10
_LONGEST_LOOK = 256 << 10
_SHORTEST_PREFIX = 6
_LONGEST_PATH = 64 << 10


class SessionFile:
    """A transcript that belongs to the project."""

    __slots__ = ("_origin", "modified", "path", "profile", "session_id", "size")

    def __init__(self, path: str, profile: Profile, info: os.stat_result) -> None:
        self.path = path
        self.profile = profile
        self.session_id = session_id_of(path, profile)
        self.modified = info.st_mtime
        self.size = info.st_size
        self._origin: tuple[str | None, bool] | None = None

    def origin(self) -> tuple[str | None, bool]:
        """The directory in which it began, and whether it is a subagent's, which does not count as a
        session."""
        if self._origin is None:
            self._origin = _read_origin(self)
        return self._origin


class Area:
    """Where a project's sessions begin: in its root and in its former directories (`roots`), but not in its
    other places (`without`). `folders` are directories under whose name an agent may keep them. A fork that
    Rewind made for another place says where it began, not where it continues, so `forks` decides for it."""

    def __init__(self, roots: list[str], without: Iterable[str] = (), folders: Iterable[str] = (),
                 forks: Mapping[str, bool] | None = None) -> None:
        self.forks = forks or {}
        self.roots = [os.path.realpath(root) for root in roots]
        self.without = [os.path.realpath(path) for path in without]
        self.folders = list(dict.fromkeys((*self.roots, *map(os.path.realpath, folders))))

    def holds(self, cwd: str) -> bool:
        return any(_is_in(cwd, root) for root in self.roots) and not any(
            _is_in(cwd, path) for path in self.without)


def _is_in(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _area(root: str | Area) -> Area:
    return root if isinstance(root, Area) else Area([root])


def project_sessions(root: str | Area, home: str | None = None) -> list[SessionFile]:
    """Every session that began in the project, of every agent, latest first."""
    return list(latest_sessions(root, home))


def latest_sessions(root: str | Area, home: str | None = None, since: float = 0.0) -> Iterator[SessionFile]:
    """The same one by one. A session is opened only when the iteration reaches it, and only if it was
    modified since `since`."""
    return sessions_begun_in(candidates(root, home), root, since)


def candidates(root: str | Area, home: str | None = None) -> list[tuple[SessionFile, bool]]:
    """(session, whether its directory's name is exactly the project's), latest first. None is opened."""
    found = [one for profile in profiles(home) for one in _sessions_of(profile, _area(root))]
    found.sort(key=lambda one: (one[0].modified, one[0].session_id), reverse=True)
    return found


def session_with_id(root: str | Area, session_id: str, home: str | None = None) -> SessionFile | None:
    """The project's session with this id, wherever its agent has put it. No other session is opened."""
    if not is_session_id(session_id):
        return None
    found = [one for one in candidates(root, home) if one[0].session_id == session_id]
    moved = ((s, False) for s in (session_anywhere(p, session_id) for p in profiles(home)) if s)
    return next(sessions_begun_in(found, root), None) or next(sessions_begun_in(list(moved), root), None)


def session_anywhere(profile: Profile, session_id: str, environ: Mapping[str, str] | None = None,
                     near: str = "") -> SessionFile | None:
    """The agent's session with this id, in any project. Claude Code 2.1.325 moves a transcript to the folder
    of the directory that it works in (worktrees, /cd), and back. Of several files, this is the one beside the
    path `near`, else the latest."""
    top = session_root(profile, environ)
    if top is None or profile.sessions is None or not is_session_id(session_id):
        return None
    if profile.sessions["folders"] == MARKED and near:
        # Only files whose names may belong to it are opened.
        here = _sessions_in(profile, os.path.dirname(near), lambda name: session_id[:8] in name)
        return max((s for s in here if s.session_id == session_id), key=_by_size, default=None)
    if profile.sessions["folders"] in (DATES, MARKED):
        return next((s for s, _ in _sessions_of(profile, Area([]), environ) if s.session_id == session_id
                     and is_under_root(profile, s.path, environ)), None)
    try:
        folders = [os.path.join(top, name) for name in os.listdir(top)]
    except OSError:
        return None
    folders += [top] if profile.sessions["flat"] else []
    found = [s for s in (_session_at(profile, os.path.join(folder, session_id + SUFFIX), environ)
                         for folder in folders) if s]
    wanted = os.path.dirname(near)
    return max(found, key=lambda s: (os.path.dirname(s.path) == wanted, s.modified), default=None)


def _session_at(profile: Profile, path: str, environ: Mapping[str, str] | None) -> SessionFile | None:
    """None unless it is a regular file below the session root, links resolved."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    ours = stat.S_ISREG(info.st_mode) and is_under_root(profile, path, environ)
    return SessionFile(path, profile, info) if ours else None


def sessions_begun_in(found: list[tuple[SessionFile, bool]], root: str | Area,
                      since: float = 0.0) -> Iterator[SessionFile]:
    """The candidates that began in the project."""
    area = _area(root)
    return (session for session, sure in found if session.modified >= since
            and _belongs(session, area, sure))


def _sessions_of(profile: Profile, area: Area,
                 environ: Mapping[str, str] | None = None) -> Iterator[tuple[SessionFile, bool]]:
    found = ((s, sure) for folder, sure in _folders(profile, area, environ).items()
             for s in _sessions_in(profile, folder))
    if profile.sessions is None or profile.sessions["folders"] not in (DATES, MARKED):
        return found
    # In folders by date a session may have several files, and the latest counts: Codex's own rewind continues
    # in a new file. In marked folders the longest counts: Gemini CLI 0.61 leaves a stub when it resumes one.
    rank = _by_name if profile.sessions["folders"] == DATES else _by_size
    best: dict[str, tuple[SessionFile, bool]] = {}
    for session, sure in found:
        known = best.get(session.session_id)
        if session.session_id and (known is None or rank(known[0]) < rank(session)):
            best[session.session_id] = session, sure
    return iter(best.values())


def _by_name(session: SessionFile) -> tuple[int, str]:
    return 0, os.path.basename(session.path)


def _by_size(session: SessionFile) -> tuple[int, str]:
    return session.size, os.path.basename(session.path)


def _folders(profile: Profile, area: Area, environ: Mapping[str, str] | None = None) -> dict[str, bool]:
    """Directory -> whether its name is exactly the project's. Names are not reversible and may collide."""
    top = session_root(profile, environ)
    if top is None or profile.sessions is None:
        return {}
    if profile.sessions["folders"] == DATES:
        return dict.fromkeys(by_date(top), False)
    try:
        names = os.listdir(top)
    except OSError:
        return {}
    if profile.sessions["folders"] == MARKED:
        below = str(profile.sessions.get("below", ""))
        marked = {os.path.join(top, name, below): _marked_directory(profile, os.path.join(top, name))
                  for name in names}
        return {folder: True for folder, cwd in marked.items()
                if cwd and (not area.roots or area.holds(os.path.realpath(cwd)))}
    found: dict[str, bool] = {}
    for number, folder in enumerate(area.folders):
        wanted = folder_name(profile, folder)
        for name in names:
            if name == wanted or name.startswith(wanted + "-") or (
                    len(wanted) > _LONGEST_FOLDER and name.startswith(wanted[:_LONGEST_FOLDER])):
                found.setdefault(os.path.join(top, name), name == wanted and number < len(area.roots))
    if profile.sessions["flat"]:
        found[top] = False
    return found


def folder_for(profile: Profile, root: str, original: str) -> str:
    """The directory for a session that continues in `root`; that of `original` if they are sorted by date.
    Empty if only the agent makes that directory, and has not made it."""
    top = session_root(profile)
    if top is None or profile.sessions is None or profile.sessions["folders"] == DATES:
        return os.path.dirname(original)
    if profile.sessions["folders"] == MARKED:
        return next(iter(_folders(profile, Area([root]))), "")
    return os.path.join(top, folder_name(profile, root))


def folder_name(profile: Profile, root: str) -> str:
    """The directory in which the agent keeps the sessions that begin in `root`."""
    assert profile.sessions is not None
    real = os.path.realpath(root)
    if profile.sessions["folders"] == "slashes":
        return "-" + real.lstrip("/").replace("/", "-")
    # One dash for each UTF-16 unit that is not an ASCII letter or digit.
    return "".join(c if c.isascii() and c.isalnum() else "-" * (2 if ord(c) > 0xFFFF else 1) for c in real)


def _marked_directory(profile: Profile, folder: str) -> str:
    """The directory that a folder is for, according to a file in it."""
    from rewind.files import read_bounded

    try:
        mark = os.path.join(folder, str((profile.sessions or {}).get("mark", "")))
        text = os.fsdecode(read_bounded(mark, _LONGEST_PATH)).strip("\r\n")
    except (OSError, RewindError):
        return ""
    return text if os.path.isabs(text) and "\0" not in text else ""


def _sessions_in(profile: Profile, folder: str,
                 named: Callable[[str], bool] = lambda name: True) -> Iterator[SessionFile]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(SUFFIX) and not entry.name.startswith(".") and named(entry.name):
            try:
                if entry.is_file(follow_symlinks=False):
                    yield SessionFile(entry.path, profile, entry.stat(follow_symlinks=False))
            except OSError:
                continue


def _belongs(session: SessionFile, area: Area, sure: bool) -> bool:
    """Decided by the directory in which the session says that it began."""
    is_ours = area.forks.get(session.session_id)
    if is_ours is not None:
        return is_ours
    cwd, is_side = session.origin()
    if is_side:
        return False
    return sure if cwd is None else area.holds(cwd)


def began_in(session: SessionFile) -> str | None:
    return session.origin()[0]


def where_began(path: str, profile: Profile) -> str:
    """The directory that paths in a transcript are relative to, if its lines do not say."""
    try:
        return began_in(SessionFile(path, profile, os.stat(path))) or "/"
    except OSError:
        return "/"


def _read_origin(session: SessionFile) -> tuple[str | None, bool]:
    field = session.profile.lines["cwd"]
    where = session.profile.sessions or {}
    side = where.get("side")
    if where.get("folders") == MARKED:
        folder = os.path.dirname(session.path)
        marked = _marked_directory(session.profile, os.path.dirname(folder) if where.get("below") else folder)
        return os.path.realpath(marked) if marked else None, False
    try:
        with open_transcript(session.path) as file:
            # Nearly always one of the first lines says it, and hundreds of sessions may have to be read.
            for end in (_FIRST_LOOK, _LONGEST_LOOK):
                for event in events_forward(file, 0, min(end, size_of(file))):
                    cwd = pick(event.data, field)
                    if isinstance(cwd, str):
                        is_side = side is not None and holds(side, event.data)
                        return os.path.realpath(cwd) if os.path.isabs(cwd) else None, is_side
    except (RewindError, ValueError):
        pass  # no path contains a null byte or half a character
    return None, False


def find_session(sessions: list[SessionFile], text: str) -> SessionFile:
    """By its full id or the beginning of it."""
    if not is_session_id(text):
        raise UsageError(f"{text!r} is not the id of a session.", hint="`rewind sessions list` shows them.")
    exact = [s for s in sessions if s.session_id == text]
    near = exact or [s for s in sessions if s.session_id.startswith(text)]
    if near and not exact and len(text) < _SHORTEST_PREFIX:
        raise UsageError(f"{text} is too short to name a session.",
                         hint=f"Give at least {_SHORTEST_PREFIX} characters of its id.")
    if not near:
        raise SessionNotFound(name=text, hint=_did_you_mean(sessions, text))
    if len(near) > 1 and not exact:
        raise SessionAmbiguous(name=text, count=len(near))
    return near[0]


def _did_you_mean(sessions: list[SessionFile], text: str) -> str | None:
    """The session whose id begins almost like this."""
    import difflib

    begin = {s.session_id[:len(text)]: s.session_id for s in reversed(sessions)}
    near = difflib.get_close_matches(text, begin, n=1, cutoff=0.75)
    return f"Did you mean `{begin[near[0]]}`?" if near else None
