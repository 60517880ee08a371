"""Does the plugin in the agent's client work? Its version, a second copy, what prevents it from loading."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rewind import __version__, jsonfile
from rewind.agents.profile import Profile
from rewind.agents.registry import session_home
from rewind.errors import ProfileInvalid, RewindError
from rewind.install.agent_settings.register import is_disabled
from rewind.install.doctor.client_version import client_version
from rewind.install.doctor.finding import Finding, ok, problem, warning
from rewind.install.doctor.managed import MANAGED, forbidden
from rewind.install.machine.installer import agents_found, registered_agents
from rewind.install.machine.system import System
from rewind.install.market_plugin import is_switched_off, market_plugin
from rewind.install.plugin import installed_version, is_ours, plugin_folder

OLDEST = (2, 1, 287)  # the first Claude Code that loads modules of plugins
_MAX_BYTES = 32 << 20
_ASK = "Ask whoever manages them to allow Rewind."


def check_plugins(system: System, root: str | None, managed: str = MANAGED) -> Iterator[Finding]:
    try:
        agents = agents_found(system.home)
    except ProfileInvalid:
        return  # reported by the check of the hooks
    hooked = {profile.name for profile in registered_agents(system.home)}
    for profile in agents:
        folder = plugin_folder(profile)
        if folder is None:
            continue
        found = [*_managed(profile, folder, managed, profile.name in hooked),
                 *_faults(profile, folder, root, profile.name in hooked, system.home)]
        yield from found
        if is_ours(folder) and not found:
            yield ok("plugin", f"{profile.title} has /goback, /goforward and /timeline")


def _faults(profile: Profile, folder: str, root: str | None, has_hooks: bool,
            home: str) -> Iterator[Finding]:
    market = market_plugin(profile)
    if market and has_hooks:
        yield warning("plugin", f"{profile.title} has Rewind twice: from `rewind install`, and as its plugin"
                                f" {market}. Each event is handled once, by the first.",
                      f"Run `claude plugin uninstall {market}`.")
    elif not market and not is_ours(folder):
        if os.path.lexists(folder):
            yield warning("plugin", f"The plugin was not installed, because this is not Rewind's: {folder}",
                          "Rename it, then run `rewind install`.")
        return
    if is_ours(folder) and installed_version(folder) != __version__:
        yield warning("plugin", f"The plugin is version {installed_version(folder)}, and this program is"
                                f" {__version__}.", "Run `rewind install` with the one that you want.")
    if is_ours(folder) and is_switched_off(profile):
        yield warning("plugin", f"The plugin is disabled in {profile.title}.",
                      "Run `claude plugin enable rewind@skills-dir`.")
    yield from _cannot_load(profile, root, home)


def _cannot_load(profile: Profile, root: str | None, home: str) -> Iterator[Finding]:
    version = client_version(profile, root, home)
    if version and version < OLDEST:
        yield warning("plugin", f"{profile.title} {_dotted(version)} is too old for /goback and /timeline."
                                " The hooks work all the same.", f"Update it to {_dotted(OLDEST)} or newer.")
    file = _hooks_off(profile, root)
    if file:
        yield warning("plugin", f"{profile.title} loads no plugin's commands while hooks are turned off, so"
                                f" there is no /goback: {file}",
                      f"Remove `{(profile.registration or {})['disabled']}` from that file.")
    if root and _is_untrusted(profile, root):
        yield warning("plugin", f"{profile.title} was told not to trust this directory, so its plugins do not"
                                " load here.", "If you trust it, accept the question at the next start.")


def _hooks_off(profile: Profile, root: str | None) -> str | None:
    try:
        return is_disabled(profile) or (is_disabled(profile, project=root) if root else None)
    except RewindError:
        return None  # reported by the check of the hooks


def _managed(profile: Profile, folder: str, managed: str, has_hooks: bool) -> Iterator[Finding]:
    """A problem if the hooks do not run either, because without them there are no checkpoints."""
    market = market_plugin(profile)
    keeps = f"Your organisation's settings keep {profile.title} from"
    rest = " The hooks work all the same." if has_hooks else ""
    for one in forbidden(managed):
        if market and not one.plugins:
            continue
        if one.hooks or (market and one.whole and not has_hooks):
            yield problem("plugin", f"{keeps} running Rewind's hooks and plugin ({one.key}): {one.file}",
                          _ASK)
        elif market or is_ours(folder):
            yield warning("plugin", f"{keeps} loading the plugin, so there is no /goback.{rest}"
                                    f" ({one.key}): {one.file}", _ASK)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _is_untrusted(profile: Profile, root: str) -> bool:
    home = session_home(profile) or ""
    moved = os.path.join(home, ".claude.json")  # with CLAUDE_CONFIG_DIR
    file = moved if os.path.exists(moved) else os.path.join(os.path.dirname(home), ".claude.json")
    projects = jsonfile.read_or_empty(file, _MAX_BYTES).get("projects")
    project = projects.get(root) if isinstance(projects, dict) else None
    return isinstance(project, dict) and project.get("hasTrustDialogAccepted") is False
