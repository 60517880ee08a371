"""Installing Rewind on a machine: a plan of what to do, and doing it. It can be repeated at any time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from rewind import __version__
from rewind.agents.profile import Profile
from rewind.agents.registry import hooks_home, profiles
from rewind.config.edit import set_value
from rewind.config.load import CONFIG_FILE, load_tier, load_usable
from rewind.errors import RewindError, SettingsNoFile, StateUnwritable, UsageError
from rewind.files import draft_of, make_private_dir, sweep_drafts, write_atomic
from rewind.install.agent_settings.register import register, registered, unregister
from rewind.install.machine.interpreter import base_interpreter
from rewind.install.machine.library import own_package, put_library
from rewind.install.machine.scripts import program_text, shim_text
from rewind.install.machine.system import Notes, System, read_script_paths
from rewind.install.machine.ui_packages import add_packages, fits
from rewind.install.plugin import make_missing, missing_above, plugin_folder, put_plugin
from rewind.lock import Lock

Say = Callable[[str], None]
_SCRIPT = 0o755


class Plan:
    """What an installation will do. The caller may still change the tier, the agents and `ui`."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.system = System(home)
        self.version = __version__
        self.is_upgrade = self.system.is_installed()
        settings, problems = load_usable(home, None)
        self.config_problems = problems
        self.tier = str(settings.get("tier"))
        self.tier_is_set = settings.source("tier") == os.path.join(home, CONFIG_FILE)
        self.auto_init = str(settings.get("init.auto"))
        self.write_tier = not self.tier_is_set
        self.agents: list[Profile] = []
        self.named = False  # whether the person named the agents: then their directories are made
        self.ui = False
        self.plugin = True  # whether the agents that take a plugin get one


def agents_with_hooks(home: str) -> list[Profile]:
    return [profile for profile in profiles(home) if profile.registration and profile.sessions]


def agents_found(home: str) -> list[Profile]:
    """The agents that have been used here: their directory exists."""
    return [profile for profile in agents_with_hooks(home) if os.path.isdir(hooks_home(profile) or "")]


def agents_named(text: str, home: str) -> list[Profile]:
    known = {profile.name: profile for profile in agents_with_hooks(home)}
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise UsageError(f'There is no agent called "{wrong[0]}".' if wrong else "--agents names no agent.",
                         hint=f"Known agents: {', '.join(known)}. `--no-hooks` registers with none.")
    return [known[name] for name in dict.fromkeys(names)]


def registered_agents(home: str) -> list[Profile]:
    """The agents that have hooks of ours now, as far as their settings can be read."""
    return [profile for profile in agents_found(home) if _is_registered(profile)]


def _is_registered(profile: Profile) -> bool:
    try:
        return bool(registered(profile))
    except RewindError:
        return False


@dataclass
class Installed:
    """What was done, and what a person should know about it."""

    plan: Plan
    python: str = ""
    previous: str | None = None  # the version that was installed before, if it was another one
    link: str | None = None
    hooks: list[Registered] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)  # directories of the clients' plugins
    ui: bool = False
    warnings: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return not any(one.problem for one in self.hooks)


@dataclass
class Registered:
    """One agent: the files that were changed, or why nothing was."""

    profile: Profile
    files: list[str]
    problem: str = ""

    @property
    def consent(self) -> str:
        """What the person must do before the agent runs new hooks."""
        return self._registration("consent")

    @property
    def note(self) -> str:
        """What else the person should know when the agent's files were changed."""
        return self._registration("note")

    def _registration(self, key: str) -> str:
        text = (self.profile.registration or {}).get(key) if self.files and not self.problem else None
        return str(text or "")


def install(plan: Plan, program: str = "", say: Say = lambda text: None) -> Installed:
    """`program` is what the person started. `say` is told about steps that take long."""
    done = Installed(plan)
    system = plan.system
    notes = system.notes()
    try:
        make_private_dir(system.folder)
        with Lock(system.lock, "install"):
            system.sweep()
            done.previous = _put(plan, done)
            made = _put_link(done, program)
            notes = Notes(plan.version, done.python, {*notes.made, *made})
            system.write_notes(notes)
    except OSError as error:
        raise StateUnwritable(reason=error.strerror or str(error), path=system.folder) from None
    _write_tier(plan, done)
    missing = [path for profile in plan.agents for path in missing_above(hooks_home(profile) or "/")]
    done.hooks = register_hooks(plan.agents, plan.tier, system.shim, create=plan.named)
    _note_made(system, notes, missing)
    if plan.plugin:
        _put_plugins(plan, done, notes)
    done.warnings += [text for one in done.hooks for text in (one.consent, one.note) if text]
    if plan.ui:
        _add_ui(plan, done, say)
    elif not fits(system):
        done.warnings.append("The packages of the user interfaces are for another Python."
                             " To reinstall them: rewind install --with-ui")
    return done


def _put(plan: Plan, done: Installed) -> str | None:
    """Put the library and the scripts in place. Returns the previous version, if it was another one."""
    system = plan.system
    paths = read_script_paths(system.shim) or read_script_paths(system.program)
    before = paths.library if paths else None
    done.python = base_interpreter()

    def point(library: str) -> None:
        hook = os.path.join(library, "rewind", "hooks", "start.py")
        start = os.path.join(library, "rewind", "start.py")
        _write_script(system.shim, shim_text(done.python, hook, system.log))
        _write_script(system.program, program_text(done.python, start))

    was = system.notes().version
    put_library(system, own_package(), plan.version, before, point)
    return was if plan.is_upgrade and was and was != plan.version else None


def _write_script(path: str, text: str) -> None:
    """An agent may start the script at any moment, so it is either the old one or the whole new one."""
    write_atomic(path, os.fsencode(text), mode=_SCRIPT)
    os.chmod(path, _SCRIPT)  # whatever the umask has made of it


# the link

def _put_link(done: Installed, program: str) -> list[str]:
    """Link the command into `~/.local/bin`. Returns the directories that were made for it."""
    system = done.plan.system
    folder = os.path.dirname(system.link)
    made: list[str] = []
    try:
        if os.path.lexists(system.link) and not system.has_our_link():
            _tell_foreign(done, program)
            return made
        made = make_missing(folder)
        sweep_drafts(system.link)
        draft = draft_of(system.link)
        if os.path.lexists(draft):
            os.unlink(draft)
        os.symlink(system.program, draft)
        os.replace(draft, system.link)
        done.link = system.link
    except OSError as error:
        done.warnings.append(f"{system.link} could not be made ({error.strerror}). The command is"
                             f" {system.program}; link it into a directory on your PATH.")
    return made


def _tell_foreign(done: Installed, program: str) -> None:
    system = done.plan.system
    if program and os.path.realpath(program) == os.path.realpath(system.link):
        done.link = system.link  # pipx or uv put it there, and it is this program
        return
    done.warnings.append(f"{system.link} is not Rewind's, so it was left alone. Move it away and install"
                         f" again, or link the command under another name: {system.program}")


# settings and hooks

def _write_tier(plan: Plan, done: Installed) -> None:
    if not plan.write_tier:
        return
    try:
        set_value(os.path.join(plan.home, CONFIG_FILE), "tier", plan.tier, project=False)
    except RewindError as error:
        done.warnings.append(f"The tier was not saved: {error.message}")


def register_hooks(agents: list[Profile], tier: str, shim: str, *, project: str | None = None,
                   create: bool = False) -> list[Registered]:
    return _with_each(agents, lambda profile: register(profile, load_tier(tier), shim, project=project,
                                                       create=create))


def unregister_hooks(agents: list[Profile], *, project: str | None = None) -> list[Registered]:
    def take_out(profile: Profile) -> list[str]:
        try:
            return unregister(profile, project=project)
        except SettingsNoFile:
            return []  # what is not a file has no hooks

    return _with_each(agents, take_out)


def _with_each(agents: list[Profile], change: Callable[[Profile], list[str]]) -> list[Registered]:
    """Change each agent's files, even if there is a problem with others."""
    found = []
    for profile in agents:
        try:
            found.append(Registered(profile, change(profile)))
        except RewindError as error:
            found.append(Registered(profile, [], f"{error.message} {error.hint}".strip()))
    return found


def _note_made(system: System, notes: Notes, missing: list[str]) -> None:
    """Note those of the missing directories that exist now."""
    made = {path for path in missing if os.path.isdir(path)}
    if made:
        notes.made.update(made)
        system.write_notes(notes)


def _put_plugins(plan: Plan, done: Installed, notes: Notes) -> None:
    """Put a plugin into each client that has our hooks. An upgrade replaces the plugins of before."""
    system = plan.system
    for profile in registered_agents(plan.home):
        folder = plugin_folder(profile)
        if folder is None:
            continue
        try:
            made = put_plugin(folder, system.program, plan.version)
        except OSError as error:
            done.warnings.append(f"The plugin for {profile.title} was not installed:"
                                 f" {error.strerror or error}. Everything else works without it.")
            continue
        done.plugins.append(folder)
        _note_made(system, notes, made)


def _add_ui(plan: Plan, done: Installed, say: Say) -> None:
    say("Installing the packages for the user interfaces …")
    problem = add_packages(plan.system, done.python)
    done.ui = not problem
    if problem:
        done.warnings.append(f"The packages of the user interfaces could not be installed ({problem})."
                             " Everything else works without them.")
