"""The effective settings: defaults < tier < the user's file < the project's file.

Every hook uses this, so it imports little and reads each file once.
"""

from __future__ import annotations

import os

from rewind.config.settings import BY_KEY, GROUPS, SETTINGS, shown, unknown
from rewind.config.strictjson import invalid, read_object
from rewind.errors import ConfigInvalid
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypedDict

    from rewind.jsonfile import JsonObject

    Values = dict[str, Any]  # by key; the table of settings has the type of each value

    class TierHook(TypedDict, total=False):
        """A hook that a tier registers. `tools`: only for this kind of tool, `edit` or `shell`."""

        action: str
        timeout: int  # seconds
        checkpoint: bool
        tools: str

    class Tier(TypedDict, total=False):
        """A file of `tiers/`. It is empty until the settings have been read."""

        tier: str
        description: str
        runtime: JsonObject  # settings, as in a configuration file
        hooks: dict[str, list[TierHook]]  # by event

CONFIG_FILE = "config.json"
PROBLEM_LIMIT = 20  # in each file: a person corrects them one by one anyway
_HERE = os.path.dirname(os.path.abspath(__file__))


class Settings:
    """The value of every setting, and where it comes from."""

    __slots__ = ("_sources", "_values", "tier")

    def __init__(self) -> None:
        self.tier: Tier = {}  # the file of the tier, with its hooks
        self._values: Values = {setting.key: setting.default for setting in SETTINGS}
        self._sources = dict.fromkeys(self._values, "default")

    def get(self, key: str) -> Any:
        return self._values[key]

    def source(self, key: str) -> str:
        """`default`, `tier <name>`, or the path of a file."""
        return self._sources[key]

    def items(self) -> Iterator[tuple[str, Any, str]]:
        for key, value in self._values.items():
            yield key, value, self._sources[key]

    def take(self, layer: _Layer) -> None:
        self._values.update(layer.values)
        self._sources.update(dict.fromkeys(layer.values, layer.source))


class _Layer:
    """The valid settings of one source, and a sentence for each of the others."""

    __slots__ = ("problems", "project", "source", "values")

    def __init__(self, source: str, project: bool = False) -> None:
        self.source = source
        self.project = project
        self.values: Values = {}
        self.problems: list[str] = []

    def read(self) -> _Layer:
        try:
            # The user's file may be a link into their dotfiles. But Rewind makes no link in the state of a
            # project: one there may lead to any file that this user can read.
            self.add(read_object(self.source, follow=not self.project))
        except ConfigInvalid as error:
            self.problems.append(error.message)
        return self

    def add(self, found: JsonObject, prefix: str = "") -> None:
        for name, value in found.items():
            key = prefix + name
            if "." in name or not (key in BY_KEY or key in GROUPS):
                self._reject(key)
            elif key in BY_KEY:
                self._set(key, value)
            elif isinstance(value, dict):
                self.add(value, key + ".")
            else:
                self._note(f"{key} must be an object, not {shown(value)}")

    def _set(self, key: str, value: Any) -> None:
        problem = BY_KEY[key].problem(value, self.project)
        if problem:
            self._note(problem)
        else:
            self.values[key] = value

    def _reject(self, key: str) -> None:
        if len(self.problems) <= PROBLEM_LIMIT:  # finding a similar key takes time
            self._note(unknown(key))

    def _note(self, problem: str) -> None:
        if len(self.problems) < PROBLEM_LIMIT:
            self.problems.append(f"{self.source}: {problem}.")
        elif len(self.problems) == PROBLEM_LIMIT:
            self.problems.append(f"{self.source}: further problems are not listed.")


def load_settings(home: str, state: str | None) -> Settings:
    """The settings for Rewind's home and the state directory of a project. An error names all problems."""
    layers = _read_files(home, state)
    problems = _problems(layers)
    if problems:
        raise invalid(next(layer.source for layer in layers if layer.problems), *problems)
    return _merge(layers)


def load_usable(home: str, state: str | None) -> tuple[Settings, list[str]]:
    """The valid settings, and the problems with the others.

    This is for hooks: a checkpoint with a default in place of a typing error is better than none.
    """
    layers = _read_files(home, state)
    return _merge(layers), _problems(layers)


def load_tier(name: str) -> Tier:
    """The file of a tier, with its hooks. `name` is one of the choices of the setting."""
    if name not in BY_KEY["tier"].choices:
        raise KeyError(name)
    with open(os.path.join(_HERE, "tiers", name + ".json"), encoding="utf-8") as file:
        tier: Tier = quickjson.loads(file.read())
    return tier


def _read_files(home: str, state: str | None) -> list[_Layer]:
    layers = [_Layer(os.path.join(home, CONFIG_FILE)).read()]
    if state is not None:
        layers.append(_Layer(os.path.join(state, CONFIG_FILE), project=True).read())
    return layers


def _problems(layers: list[_Layer]) -> list[str]:
    return [problem for layer in layers for problem in layer.problems]


def _merge(layers: list[_Layer]) -> Settings:
    settings = Settings()
    name = BY_KEY["tier"].default
    for layer in layers:
        name = layer.values.get("tier", name)
    settings.tier = load_tier(name)
    tier = _Layer(f"tier {name}")
    tier.add({"runtime": settings.tier["runtime"]})
    for layer in (tier, *layers):
        settings.take(layer)
    return settings
