"""`remotes.json`: the remotes of a project, and the writer id under which this store pushes to them."""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import is_hex
from rewind.checkpoint.remote.url import checked_url, is_remote_name
from rewind.checkpoint.upkeep.disk_use import REPOSITORY
from rewind.errors import RemoteExists, RemoteNotFound, StoreDamaged, UsageError
from rewind.jsonfile import JsonObject

FILE = "remotes.json"
LOCK = "remote.lock"
_MAX_BYTES = 1 << 20


def is_writer(text: object) -> bool:
    return is_hex(text, 32)


class Remote:
    __slots__ = ("data", "name", "times")

    def __init__(self, name: str, data: JsonObject, times: JsonObject | None = None) -> None:
        self.name = name
        self.data = data
        self.times = times or {}  # pushedAt, pulledAt

    @property
    def url(self) -> str:
        return str(self.data["url"])


class Remotes:
    """Each store pushes only to refs of its own, so two stores never conflict. Changes need `LOCK`."""

    def __init__(self, state: State) -> None:
        self.path = state.project.path(FILE)
        self._times_path = state.project.path(REPOSITORY, "rewind-times.json")
        self.data = self._load()
        self._times = self._load_times()

    def _load(self) -> JsonObject:
        try:
            data = jsonfile.read(self.path, _MAX_BYTES) or {}
        except FileNotFoundError:
            return {"writer": os.urandom(16).hex(), "remotes": {}}
        if not _is_sound(data):
            raise StoreDamaged(what=f"{self.path} is not readable",
                               hint="Move it away and add the remotes again: rewind remote add NAME URL")
        return data

    def save(self) -> None:
        jsonfile.write(self.path, self.data)

    @property
    def writer(self) -> str:
        return str(self.data["writer"])

    @property
    def all(self) -> list[Remote]:
        return [Remote(name, data, self._times.get(name))
                for name, data in sorted(self.data["remotes"].items())]

    def find(self, name: str | None = None) -> Remote:
        """The remote with this name; without a name the only one, or `origin`."""
        found = {remote.name: remote for remote in self.all}
        if name is None:
            name = next(iter(found)) if len(found) == 1 else "origin"
        if name not in found:
            raise RemoteNotFound(name=name)
        return found[name]

    def add(self, name: str, url: str) -> Remote:
        if not is_remote_name(name):
            raise UsageError(f'"{name}" cannot be the name of a remote.',
                             hint="Use letters, digits, dashes, dots and underscores, such as origin.")
        if name in self.data["remotes"]:
            raise RemoteExists(name=name)
        remote = Remote(name, {"url": checked_url(url)})
        self.data["remotes"][name] = remote.data
        self.save()
        return remote

    def remove(self, name: str) -> Remote:
        remote = self.find(name)
        del self.data["remotes"][name]
        self.save()
        return remote

    def note(self, remote: Remote, **times: str) -> None:
        """Remember when it was pushed to or pulled from. Nothing depends on it, so it has a file of its own
        that is not synced to the disk."""
        self._times = self._load_times()  # somebody may have pushed while a pull downloaded
        remote.times = {**self._times.get(remote.name, {}), **times}
        self._times[remote.name] = remote.times
        jsonfile.write(self._times_path, self._times, sync=False)

    def _load_times(self) -> JsonObject:
        data = jsonfile.read_or_empty(self._times_path, _MAX_BYTES)
        return {name: times for name, times in data.items() if isinstance(times, dict)}


def _is_sound(data: JsonObject) -> bool:
    remotes = data.get("remotes")
    return (isinstance(remotes, dict) and is_writer(data.get("writer"))
            and all(is_remote_name(name) and isinstance(remote, dict) and isinstance(remote.get("url"), str)
                    for name, remote in remotes.items()))
