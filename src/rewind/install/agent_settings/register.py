"""The files that an agent reads its hooks from: putting ours in, taking them out, looking them up."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from rewind.agents.profile import Profile
from rewind.agents.registry import hooks_home
from rewind.errors import (
    AgentMissing,
    NoHooks,
    RewindError,
    ScriptForeign,
    SettingsBusy,
    SettingsClosed,
    SettingsNoFile,
    SettingsTooLong,
    SettingsUnreadable,
    SettingsUnwritable,
)
from rewind.files import (
    PRIVATE_FILE,
    make_private_dir,
    read_bounded,
    stamp_of,
    stamp_of_stat,
    sweep_drafts,
    write_atomic,
)
from rewind.install.agent_settings.comments import put_back, take_out, without_comments
from rewind.install.agent_settings.merger import (
    EVENTS,
    MARK,
    Found,
    Hooks,
    entries_for,
    in_new_folder,
    merge,
    our_hooks,
    unmerge,
)
from rewind.install.agent_settings.script import folders_made, hooks_in, is_our_script, script_text
from rewind.install.agent_settings.settings_text import BOM, read_root

if TYPE_CHECKING:
    from rewind.config.load import Tier

Change = Callable[[Optional[str]], Optional[str]]  # None: no such file
SIZE_LIMIT = 16 << 20
_TRIES = 3


class _Places(NamedTuple):
    """The files of one scope: the person's own, or those of a project."""

    folder: str
    settings: str
    flat: str | None
    script: str | None  # the script of ours that is put there instead of hooks in a settings file

    def all(self) -> list[tuple[str, bool]]:
        """Each file, and whether the hooks in it are wrapped."""
        flat = [(self.flat, False)] if self.flat else []
        return [*flat, (self.settings, True)]


def register(profile: Profile, tier: Tier, shim: str, *, project: str | None = None,
             create: bool = False) -> list[str]:
    """Put the tier's hooks in place of any others of ours. Returns the files that were changed."""
    places = _places(profile, project)
    if places is None:
        raise NoHooks(title=profile.title)
    hooks = entries_for(tier, profile, shim)
    made = _make_folder(profile, places, project, create)
    if places.script:
        return _put_script(places, hooks, made)
    # If hooks.json has an event, Droid 0.225 reads the event from that file alone. It drops no duplicates, so
    # each event goes into one file.
    above = _shadowing(places.flat) & set(hooks)
    changes = [(file, _merging({event: groups for event, groups in hooks.items()
                                if (event in above) != wrapped}, wrapped, file, made, _comments(profile)))
               for file, wrapped in places.all()]
    for file, change in changes:
        change(_read(file))  # a problem with the second file must show before the first one is written
    return [file for file, change in changes if _change(file, change)]


def unregister(profile: Profile, *, project: str | None = None) -> list[str]:
    """Take our hooks out of every file of the agent. Returns the files that were changed."""
    places = _places(profile, project)
    if places and places.script:
        return _remove_script(places.settings)
    changed, errors = [], []
    for file, wrapped in places.all() if places else ():
        try:
            if _change(file, _merging({}, wrapped, file, comments=_comments(profile))):
                changed.append(file)
        except RewindError as error:
            errors.append(error)
    # Only now: if one file cannot be read, our hooks must still be taken out of the other one. A file that is
    # missing has none of them, so another error is reported first.
    if errors:
        raise min(errors, key=lambda error: isinstance(error, SettingsNoFile))
    return changed


def registered(profile: Profile, *, project: str | None = None) -> list[Found]:
    """Our hooks in the agent's files."""
    places = _places(profile, project)
    if places and places.script:
        return hooks_in(_read(places.settings) or "", places.settings)
    texts = [(file, wrapped, _plain(profile, file)) for file, wrapped in (places.all() if places else ())]
    return [hook for file, wrapped, text in texts if text is not None and MARK in text
            for hook in our_hooks(text, wrapped=wrapped, file=file)]


def shadowed(profile: Profile, *, project: str | None = None) -> list[Found]:
    """Our hooks that never run, because the agent reads their event from another file."""
    places = _places(profile, project)
    if places is None or places.flat is None:
        return []
    above = _events_in(_read(places.flat))
    return [found for found in registered(profile, project=project)
            if found.file == places.settings and found.event in above]


def is_disabled(profile: Profile, *, project: str | None = None) -> str | None:
    """The file in which all hooks are turned off, or None."""
    places = _places(profile, project)
    where = profile.registration
    if places is None or where is None or where["disabled"] is None:
        return None
    files = [places.settings]
    local = where.get("local")
    if project is not None and local:
        files.append(os.path.join(places.folder, local))
    return next((file for file in files if _is_set(file, where["disabled"])), None)


def _is_set(file: str, key: str) -> bool:
    text = _read(file)
    found = read_root(text, file).find(key) if text is not None else None
    return found is not None and found.value is True


# which files

def _places(profile: Profile, project: str | None) -> _Places | None:
    where = profile.registration
    home = hooks_home(profile)
    if where is None or home is None:
        return None
    folder = home if project is None else os.path.join(project, where["project"])
    flat = os.path.join(folder, where["flat"]) if where["flat"] else None
    return _Places(folder, os.path.join(folder, where["settings"]), flat, where.get("script"))


def _make_folder(profile: Profile, places: _Places, project: str | None, create: bool) -> bool:
    """Make the agent's directory if it does not exist. Returns whether it was made."""
    if os.path.isdir(places.folder):
        return False
    home = hooks_home(profile) or ""
    if not create and not (project is not None and os.path.isdir(home)):
        raise AgentMissing(title=profile.title, folder=home)
    try:
        if project is None:
            make_private_dir(places.folder)
        else:
            os.mkdir(places.folder)
    except OSError as error:
        raise SettingsUnwritable(file=places.folder, reason=error.strerror) from None
    return True


def _shadowing(flat: str | None) -> set[str]:
    """The events that the agent reads from the flat file, without regard to our hooks in it."""
    text = _read(flat) if flat else None
    if flat and text is not None and MARK in text:
        text = unmerge(text, wrapped=False, file=flat)
    return _events_in(text)


def _events_in(text: str | None) -> set[str]:
    """As Droid 0.225.2 reads it: comments are ignored and an empty list counts. A file with a byte order
    mark, another error or an event that is not a list is ignored as a whole."""
    if text is None or text.startswith(BOM):
        return set()
    try:
        members = read_root(without_comments(text), "").elements
    except SettingsUnreadable:
        return set()
    events = [member for member in members if member.key in EVENTS]
    valid = all(isinstance(event.value, list) for event in events)
    return {str(event.key) for event in events} if valid else set()


# reading and writing

def _merging(hooks: Hooks, wrapped: bool, file: str, new_folder: bool = False,
             comments: bool = False) -> Change:
    def change(text: str | None) -> str | None:
        if hooks:
            return merge(text, hooks, wrapped=wrapped, file=file, new_folder=new_folder)
        # A file without hooks of ours need not even be valid.
        return unmerge(text, wrapped=wrapped, file=file) if text is not None and MARK in text else text
    return _around_comments(change, wrapped, file) if comments else change


def _around_comments(change: Change, wrapped: bool, file: str) -> Change:
    """The same for a file with comments, if the comments survive it and it can be reversed exactly."""
    def changed(text: str | None) -> str | None:
        plain, comments = take_out(text, file) if text is not None else (None, [])
        new = change(plain)
        if comments and new is not None and plain is not None and (
                unmerge(new, wrapped=wrapped, file=file) != unmerge(plain, wrapped=wrapped, file=file)):
            raise SettingsUnreadable(file=file, problem="its comments stand where Rewind's hooks go")
        return put_back(new, comments, file)
    return changed


def _comments(profile: Profile) -> bool:
    """Whether the agent reads settings that have comments."""
    return bool((profile.registration or {}).get("comments"))


def _plain(profile: Profile, file: str) -> str | None:
    text = _read(file)
    return take_out(text, file)[0] if text is not None and _comments(profile) else text


def _change(file: str, change: Change) -> bool:
    """Read, change and write a file, and begin again if another program wrote it meanwhile. Returns whether
    the file was changed."""
    target = os.path.realpath(file)
    for _ in range(_TRIES):
        before = _status(target)
        text = _read(file)
        new = change(text)
        if new == text:
            return False
        if stamp_of(target) == (stamp_of_stat(before) if before else None):
            _write(file, target, new, before)
            if new is None and text is not None and not is_our_script(text) and in_new_folder(
                    text, wrapped=True) and not os.path.islink(file):
                remove_if_empty(os.path.dirname(file))
            return True
    raise SettingsBusy(file=file)


def _status(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except OSError:
        return None


def _read(file: str) -> str | None:
    target = os.path.realpath(file)
    try:
        return read_bounded(target, SIZE_LIMIT).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise SettingsUnreadable(file=file, problem=f"it is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SettingsNoFile(file=file, what="a link that leads back to itself") from None
        raise SettingsClosed(file=file, reason=error.strerror) from None
    except RewindError:
        mode = getattr(_status(target), "st_mode", 0)
    if stat.S_ISREG(mode):
        raise SettingsTooLong(file=file)
    raise SettingsNoFile(file=file, what="a directory" if stat.S_ISDIR(mode) else "not a regular file")


def _write(file: str, target: str, text: str | None, before: os.stat_result | None) -> None:
    # Replacing a file needs only a writable directory, but a read-only file is meant to keep its content.
    if before and (not before.st_mode & 0o222 or not os.access(target, os.W_OK)):
        raise SettingsUnwritable(file=file, reason="it is read-only")
    try:
        sweep_drafts(target)
        if text is None:
            os.unlink(target)
        else:
            mode = stat.S_IMODE(before.st_mode) if before else PRIVATE_FILE
            write_atomic(target, text.encode("utf-8"), mode=mode)
            if before:
                _keep_owner_and_mode(target, before)
    except OSError as error:
        raise SettingsUnwritable(file=file, reason=error.strerror) from None


def _keep_owner_and_mode(target: str, before: os.stat_result) -> None:
    now = os.stat(target)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(target, before.st_uid, before.st_gid)
        except OSError:
            pass  # only root can give a file away, and another group of the same user does no harm
    os.chmod(target, stat.S_IMODE(before.st_mode))


def remove_if_empty(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except OSError:
        return False  # it is not empty
    return True


# a script of ours

def _put_script(places: _Places, hooks: Hooks, made: bool) -> list[str]:
    """Write our script. A file of that name that is not ours stays."""
    file, folder = places.settings, os.path.dirname(places.settings)
    there = _read(file)
    if there is not None and not is_our_script(there):
        raise ScriptForeign(file=file)
    try:
        new = int(made) + int(not os.path.isdir(folder)) if there is None else folders_made(there)
        if not os.path.isdir(folder):
            os.mkdir(folder)
    except OSError as error:
        raise SettingsUnwritable(file=file, reason=error.strerror) from None
    text = script_text(str(places.script), hooks, new)
    return [file] if _change(file, lambda _: text) else []


def _remove_script(file: str) -> list[str]:
    text = _read(file)
    if text is None or not is_our_script(text) or not _change(file, lambda _: None):
        return []
    folder = file
    for _ in range(folders_made(text)):
        folder = os.path.dirname(folder)
        if not remove_if_empty(folder):
            break
    return [file]
