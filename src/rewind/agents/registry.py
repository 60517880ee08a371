"""Which agents there are, and which of them made a file or runs this process."""

from __future__ import annotations

import os
import stat

from rewind.agents.profile import Profile, holds
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded
from rewind.paths import rewind_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rewind.agents.profile_sections import Home
    from rewind.jsonfile import JsonObject

UNKNOWN = "unknown"
_BUILTIN = ("claude", "droid", "codex", "gemini", "opencode")
_MAX_BYTES = 1 << 20
_FIRST_LINES = 50
_PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiles")
# For each home: the profiles in it, and the first problem with one of them.
_loaded: dict[str, tuple[list[Profile], RewindError | None]] = {}
_builtin: dict[str, Profile] = {}


def profiles(home: str | None = None) -> list[Profile]:
    """The agents that can be recognised: the user's own first, then those that come with Rewind."""
    return list(each_profile(home))


def each_profile(home: str | None = None, *, forgiving: bool = False) -> Iterator[Profile]:
    """The same one by one: a hook takes the first one that fits, and the others are not even read.
    `forgiving` skips a profile of the user that is not valid."""
    own = _own_of(home or rewind_home(), forgiving)
    names = {p.name for p in own}
    yield from (p for p in own if p.name != UNKNOWN)
    for name in _BUILTIN:
        if name not in names:
            yield _shipped(name)


def profile_named(name: str, home: str | None = None) -> Profile:
    """The profile with this name. For a name that is not known, the profile of the unknown agent."""
    own = {p.name: p for p in reversed(_own_of(home or rewind_home()))}
    if name in own:
        return own[name]
    return _shipped(name) if name in _BUILTIN else own.get(UNKNOWN) or _shipped(UNKNOWN)


def _own_of(home: str, forgiving: bool = False) -> list[Profile]:
    if home not in _loaded:
        _loaded[home] = _own_profiles(os.path.join(home, "agents"))
    found, problem = _loaded[home]
    if problem and not forgiving:
        raise problem
    return found


def _shipped(name: str) -> Profile:
    """A profile that comes with Rewind. The tests have checked it."""
    if name not in _builtin:
        with open(os.path.join(_PROFILES, name + ".json"), "rb") as file:
            _builtin[name] = Profile(quickjson.loads(file.read()))
    return _builtin[name]


def _own_profiles(folder: str) -> tuple[list[Profile], RewindError | None]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return [], None
    found, problem = [], None
    for name in names:
        if name.endswith(".json"):
            try:
                found.append(_load(os.path.join(folder, name)))
            except RewindError as error:
                problem = problem or error
    return found, problem


def _load(path: str) -> Profile:
    from rewind.agents.check import make_profile
    from rewind.errors import ProfileInvalid

    try:
        data = quickjson.loads(read_bounded(path, _MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise ProfileInvalid(file=path, problem=f"it is not valid JSON ({error})")
    except RewindError as error:
        raise ProfileInvalid(file=path, problem=error.message)
    except OSError as error:
        raise ProfileInvalid(file=path, problem=error.strerror or str(error))
    return make_profile(data, path)


# where sessions live

def session_home(profile: Profile, environ: Mapping[str, str] | None = None) -> str | None:
    """The agent's own directory (`~/.claude`), or where the environment has moved it."""
    return _home(profile.sessions, environ) if profile.sessions else None


def hooks_home(profile: Profile) -> str | None:
    """The directory with the settings that name an agent's hooks; for most agents, its own directory."""
    where = profile.registration
    return _home(where, None) if where and where.get("home") else session_home(profile)


def _home(where: Home, environ: Mapping[str, str] | None) -> str:
    environ = os.environ if environ is None else environ
    moved = environ.get(where.get("homeVariable") or "")
    if moved:
        return os.path.join(os.path.abspath(moved), str(where.get("homeBelow") or "")).rstrip(os.sep)
    return os.path.expanduser(str(where["home"]))


def session_root(profile: Profile, environ: Mapping[str, str] | None = None) -> str | None:
    """The directory below which all transcripts of this agent are."""
    home = session_home(profile, environ)
    return os.path.join(home, profile.sessions["root"]) if home and profile.sessions else None


def is_under_root(profile: Profile, path: str, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a transcript is where this agent keeps its sessions, with links resolved."""
    root = session_root(profile, environ)
    if root is None or "\0" in path:
        return False
    real = os.path.realpath(path)
    return real.startswith(os.path.realpath(root) + os.sep)


# which agent

def profile_of_environment(environ: Mapping[str, str], home: str | None = None, *,
                           forgiving: bool = False) -> Profile | None:
    """The agent that runs this process. Droid also sets variables of Claude Code, but not the other way
    round, so the profile with most of its marks in the environment wins."""
    known = list(each_profile(home, forgiving=forgiving))
    named = environ.get("REWIND_AGENT")
    for profile in known:
        if named and profile.name == named:
            return profile
    scored = [(sum(mark in environ for mark in p.environment["marks"]), p) for p in known]
    best = max((score for score, _ in scored), default=0)
    # The last of several equals: an agent that imitates another one is listed after it.
    return [p for score, p in scored if score == best][-1] if best else None


def profile_for(path: str, environ: Mapping[str, str] | None = None, home: str | None = None) -> Profile:
    """The agent whose transcript this is, by its directory, or else by its first lines."""
    for profile in profiles(home):
        if is_under_root(profile, path, environ):
            return profile
    return _by_first_lines(path, home)


def _by_first_lines(path: str, home: str | None) -> Profile:
    for number, data in enumerate(_first_objects(path)):
        for profile in profiles(home):
            if profile.recognise and number < profile.recognise["within"] and _looks_like(profile, data):
                return profile
    return profile_named(UNKNOWN, home)


def _looks_like(profile: Profile, data: JsonObject) -> bool:
    assert profile.recognise is not None
    keys = profile.recognise.get("keys") or []
    equals = profile.recognise.get("equals")
    return bool(keys or equals) and all(k in data for k in keys) and (not equals or holds(equals, data))


def _first_objects(path: str) -> list[JsonObject]:
    found = []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO in its place must not block us
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return []
            for _ in range(_FIRST_LINES):
                raw = file.readline(1 << 20)
                if not raw:
                    break
                try:
                    data = quickjson.loads(raw.lstrip(b"\xef\xbb\xbf"))
                except (ValueError, RecursionError):
                    continue
                if isinstance(data, dict):
                    found.append(data)
    except (OSError, ValueError):
        return []
    return found
