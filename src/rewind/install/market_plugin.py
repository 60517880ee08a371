"""The plugin as `claude plugin install` installs it, with its own library and hooks."""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.agents.profile import Profile
from rewind.agents.registry import profiles, session_home
from rewind.errors import ProfileInvalid
from rewind.install.plugin import NAME

_MAX_BYTES = 4 << 20
_OURS = "skills-dir"  # what the client calls the place where `rewind install` puts its copy


def market_plugin(profile: Profile) -> str:
    """The name that `claude plugin uninstall` takes, if Rewind's plugin is installed and enabled; else empty.
    Another plugin may have the same name."""
    return next((name for name, enabled in _enabled(profile).items() if enabled is True
                 and name.startswith(f"{NAME}@") and name != f"{NAME}@{_OURS}"
                 and any(os.path.isfile(os.path.join(folder, "hooks", "smart-checkpoint"))
                         for folder in _folders(profile, name))), "")


def has_market_plugin(home: str) -> bool:
    """Whether an agent has this plugin, so that nothing else has to be installed."""
    try:
        return any(market_plugin(profile) for profile in profiles(home))
    except ProfileInvalid:
        return False


def is_switched_off(profile: Profile) -> bool:
    """Whether `claude plugin disable` was used on the copy of `rewind install`."""
    return _enabled(profile).get(f"{NAME}@{_OURS}") is False


def _enabled(profile: Profile) -> dict[str, object]:
    home = session_home(profile)
    if home is None or not (profile.registration or {}).get("plugin"):
        return {}
    found = jsonfile.read_or_empty(os.path.join(home, "settings.json"), _MAX_BYTES).get("enabledPlugins")
    return found if isinstance(found, dict) else {}


def _folders(profile: Profile, name: str) -> list[str]:
    file = os.path.join(session_home(profile) or "", "plugins", "installed_plugins.json")
    plugins = jsonfile.read_or_empty(file, _MAX_BYTES).get("plugins")
    entries = plugins.get(name) if isinstance(plugins, dict) else None
    return [entry["installPath"] for entry in entries if isinstance(entry, dict)
            and isinstance(entry.get("installPath"), str)] if isinstance(entries, list) else []
