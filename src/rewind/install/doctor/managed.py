"""What the managed settings of an organisation forbid in Claude Code. Each key was tried with 2.1.325."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from rewind import jsonfile
from rewind.install.plugin import NAME
from rewind.jsonfile import JsonObject

MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
_MAX_BYTES = 4 << 20
_SURFACES = "strictPluginOnlyCustomization"


class Forbidden(NamedTuple):
    """A key of a managed file that prevents the plugin of `rewind install` from loading. `hooks`: the hooks
    in the person's own settings do not run either. `plugins`: it also holds for a plugin that the client
    installed, and `whole` says whether that plugin loses its hooks as well."""

    key: str
    file: str
    hooks: bool = False
    plugins: bool = True
    whole: bool = True


def forbidden(folder: str = MANAGED) -> list[Forbidden]:
    """What all managed files forbid, even if one of them allows again what another one forbids."""
    return [found for file in _files(folder) for found in _in_file(file)]


def _files(folder: str) -> Iterator[str]:
    yield os.path.join(folder, "managed-settings.json")
    more = os.path.join(folder, "managed-settings.d")
    try:
        names = sorted(os.listdir(more))
    except OSError:
        return
    for name in names:
        if name.endswith(".json") and not name.startswith("."):
            yield os.path.join(more, name)


def _in_file(file: str) -> Iterator[Forbidden]:
    settings = jsonfile.read_or_empty(file, _MAX_BYTES)
    for key in ("disableAllHooks", "allowManagedHooksOnly"):
        if settings.get(key) is True:
            yield Forbidden(key, file, hooks=True)
    surfaces = settings.get(_SURFACES)
    if surfaces is True or (isinstance(surfaces, list) and "hooks" in surfaces):
        yield Forbidden(_SURFACES, file, hooks=True, plugins=False)
    elif isinstance(surfaces, list) and "skills" in surfaces:
        yield Forbidden(_SURFACES, file, plugins=False)
    # A list of marketplaces cannot name the directory of skills, but it may name the source of another copy.
    markets = settings.get("strictKnownMarketplaces")
    if isinstance(markets, list):
        yield Forbidden("strictKnownMarketplaces", file, plugins=not markets)
    if any(name.startswith(f"{NAME}@") and on is False for name, on in _object(settings, "enabledPlugins")):
        yield Forbidden("enabledPlugins", file)
    if any(isinstance(one, dict) and dict(_object(one, "options")).get("allowManagedModsOnly")
           for _, one in _object(settings, "pluginConfigs")):
        yield Forbidden("allowManagedModsOnly", file, whole=False)


def _object(settings: JsonObject, key: str) -> list[tuple[str, Any]]:
    found = settings.get(key)
    return list(found.items()) if isinstance(found, dict) else []
