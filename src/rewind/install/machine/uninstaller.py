"""Removing Rewind from a machine: hooks first, and never the checkpoints."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import NamedTuple

from rewind import jsonfile
from rewind.agents.profile import Profile
from rewind.agents.registry import profiles
from rewind.checkpoint.project.all_projects import all_projects
from rewind.errors import ProfileInvalid, RewindError, SettingsNoFile, SettingsUnreadable
from rewind.install.agent_settings.register import registered, remove_if_empty, unregister
from rewind.install.machine.system import System, script_in
from rewind.install.plugin import is_ours, plugin_folder

# Everything that Rewind makes in its home, and the user's own profiles. A file with another name is not ours:
# REWIND_HOME may be any directory.
_OURS = ("system", "config.json", "agents", "hook-state.json", "rewind.log", "rewind.log.1", "crash.log",
         "known-stores.lock", "known-stores.lock.claim", "init.lock", "init.lock.claim", "hooks.lock",
         "hooks.lock.claim")
_STORES = "known-stores.json"
_MAX_BYTES = 16 << 20
_MACHINE = "machine-id"  # the machine that the files outside a project belong to, in a checkpoint
_STORAGE = "storage"
_TRANSCRIPTS = "transcripts"  # copies of conversations that an agent keeps in a database


class Remaining(NamedTuple):
    """Checkpoints that stay when Rewind is removed: of which project, and where."""

    root: str
    state: str


class UninstallPlan:
    """What is removed, what stays, and from which of the agents' files hooks are taken out."""

    def __init__(self, home: str, projects: list[str]) -> None:
        self.home = home
        self.system = System(home)
        self.agents = _agents(home)
        self.remaining = _remaining_checkpoints(home)
        self._others = [root for root in _known_roots(home) if root not in projects]
        self._projects = projects
        self.hook_files = sorted({found for where in self._places() for found in self._files(*where)})
        leads_here = os.path.realpath(self.system.link) == os.path.realpath(self.system.program)
        self.link = self.system.link if leads_here and self.system.has_our_link() else None
        self.plugins = [folder for profile in self.agents for folder in [plugin_folder(profile)]
                        if folder and is_ours(folder)]
        self.paths = [path for name in self._names() for path in [os.path.join(home, name)]
                      if os.path.lexists(path)]
        self._made = self.system.notes().made

    def _names(self) -> list[str]:
        try:
            there = os.listdir(self.home)
        except OSError:
            return []
        drafts = [name for name in there if name.startswith(".") and name.endswith(".tmp")
                  and name[1:].startswith((*_OURS, _STORES))]
        stores = [] if self.remaining else [_STORES, _MACHINE, _TRANSCRIPTS]
        return [*_OURS, *stores, *sorted(drafts)]

    def _places(self) -> list[tuple[Profile, str | None]]:
        """The agents' own files, those of this project, and those of other projects that name our shim."""
        scopes: list[str | None] = [None, *self._projects]
        own = [(profile, scope) for scope in scopes for profile in self.agents]
        return own + [(profile, root) for root in self._others for profile in self.agents
                      if self._calls_us(profile, root)]

    def _calls_us(self, profile: Profile, root: str) -> bool:
        # A team may share a project's settings. The hooks of another member must stay.
        try:
            return any(script_in(found.command) == self.system.shim
                       for found in registered(profile, project=root))
        except RewindError:
            return False

    def _files(self, profile: Profile, project: str | None) -> list[str]:
        try:
            return [found.file for found in registered(profile, project=project)]
        except RewindError:
            return []  # reported when it is tried

    @property
    def is_nothing(self) -> bool:
        return not (self.paths or self.link or self.hook_files or self.plugins)

    def apply(self) -> Uninstalled:
        done = Uninstalled()
        for folder in self.plugins:  # before the hooks: then a directory that only held both can be removed
            done.remove(folder)
            if os.path.dirname(folder) in self._made:
                remove_if_empty(os.path.dirname(folder))
        for profile, project in self._places():
            try:
                done.files += unregister(profile, project=project)
            except SettingsNoFile:
                pass  # what is not a file has no hooks
            except SettingsUnreadable as error:
                done.problems.append(f"{error.message} Any hooks of Rewind in it are still there.")
            except RewindError as error:
                done.problems.append(f"{error.message} Rewind's hooks are still in it.")
        if self.link:
            done.remove(self.link)
        for path in self.paths:
            done.remove(path)
        for folder in sorted(self._made, key=len, reverse=True):
            remove_if_empty(folder)
        if not self.remaining:
            remove_if_empty(os.path.join(self.home, _STORAGE))
            remove_if_empty(self.home)
        return done


@dataclass
class Uninstalled:
    files: list[str] = field(default_factory=list)  # of agents, from which our hooks were removed
    removed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def remove(self, path: str) -> None:
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
            self.removed.append(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.problems.append(f"{path} could not be removed ({error.strerror}).")


def _agents(home: str) -> list[Profile]:
    try:
        found = profiles(home)
    except ProfileInvalid:
        # A broken profile of the user must not prevent this. `system` has no profiles, so ours are used.
        found = profiles(os.path.join(home, "system"))
    return [profile for profile in found if profile.registration]


def _known_roots(home: str) -> list[str]:
    """The projects that were ever protected, according to the list of stores."""
    stores = jsonfile.read_or_empty(os.path.join(home, _STORES), _MAX_BYTES).get("stores")
    entries = stores.values() if isinstance(stores, dict) else ()
    roots = [entry.get("root") for entry in entries if isinstance(entry, dict)]
    return sorted({root for root in roots if isinstance(root, str) and os.path.isabs(root)
                   and "\0" not in root})


def _remaining_checkpoints(home: str) -> list[Remaining]:
    found = [Remaining(one.root or "a project that is not named", one.state)
             for one in all_projects(home) if one.checkpoints]
    return sorted(found)
