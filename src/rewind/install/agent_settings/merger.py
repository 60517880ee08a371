"""Puts Rewind's hooks into the text of an agent's settings, and takes them out again: text in, text out.

Taking them out is the exact inverse of putting them in, and nothing is remembered outside the text. Our hooks
always follow what is there, and the order of their keys says which empty brackets were there before, or that
the directory did not exist. A copy of the old file would be of no use once a client or a person has changed
the settings, or when a colleague takes out hooks of a project that somebody else registered. To parse the
file and write it again would lose its comments.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rewind.agents.profile import Profile
from rewind.errors import PathNotText, SettingsUnreadable
from rewind.install.agent_settings.settings_text import Box, Edit, Element, Style, apply_edits, read_root
from rewind.jsonfile import JsonObject

if TYPE_CHECKING:
    from rewind.config.load import Tier, TierHook

Hooks = dict[str, list[JsonObject]]  # by event: groups of hooks, in the form that the agent wants

MARK = "smart-checkpoint"
# No others: one unknown name disables every hook of the file in Claude Code 2.1.30.
EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")

# The order of the keys in our hooks says what was there before, but empty. Unlike the layout, it survives
# when a client rewrites the file. In any other order, nothing was there: what is empty without ours goes.
_PLAIN = ("type", "command", "timeout")
_FILE_WAS_EMPTY = ("type", "timeout", "command")
_HOOKS_WERE_EMPTY = ("command", "type", "timeout")
_EVENT_WAS_EMPTY = ("timeout", "type", "command")
_NO_FOLDER = ("command", "timeout", "type")


def is_text(path: str) -> bool:
    """Whether JSON can hold this path. An odd byte can be written as half a character, but not read back."""
    return path.isascii() or path.encode("utf-8", "ignore").decode() == path


def entries_for(tier: Tier, profile: Profile, shim: str) -> Hooks:
    """What a tier registers with an agent, by event, in the form of the agent's settings."""
    if MARK not in os.path.basename(shim):
        raise ValueError(f"{shim} could not be recognised as ours")
    if not is_text(os.path.abspath(shim)):
        raise PathNotText(shim=os.path.abspath(shim))
    found: Hooks = {}
    called = (profile.registration or {}).get("events", {})  # the agent's own names for events
    for event in EVENTS:
        groups = [_group(entry, profile, os.path.abspath(shim)) for entry in tier["hooks"].get(event, [])
                  if "tools" not in entry or profile.tools[entry["tools"]]]
        if groups:
            found[called.get(event, event)] = groups
    return found


def _group(entry: TierHook, profile: Profile, shim: str) -> JsonObject:
    # Names the agent if none of its variables does, because not every payload has a path that tells.
    named = f"env REWIND_AGENT={profile.name} " if (profile.registration or {}).get("named") else ""
    hook = {"type": "command", "command": f"{named}{shlex.quote(shim)} {entry['action']}",
            "timeout": entry["timeout"] * (profile.registration or {}).get("timeoutsPerSecond", 1)}
    name = (profile.registration or {}).get("hookName")
    if name:
        hook["name"] = name
    if "tools" not in entry:
        return {"hooks": [hook]}
    return {"matcher": "|".join(profile.tools[entry["tools"]]), "hooks": [hook]}


def merge(text: str | None, hooks: Hooks, *, wrapped: bool, file: str = "The file",
          new_folder: bool = False) -> str:
    """The text with these hooks in place of any others of ours. `wrapped`: they are under the key `hooks`,
    not at the top. `new_folder`: the directory of the file was made for them."""
    hooks = {event: groups for event, groups in hooks.items() if groups}
    if text is not None:
        root = read_root(text, file)
        _check(root, hooks, wrapped, file)
        if _has_exactly(root, hooks, wrapped):
            return text
        new_folder = in_new_folder(text, wrapped=wrapped, file=file)
        text = unmerge(text, wrapped=wrapped, file=file)
    if text is None:
        ours = {event: _ordered(groups, _NO_FOLDER if new_folder else _PLAIN)
                for event, groups in hooks.items()}
        return json.dumps({"hooks": ours} if wrapped else ours, indent=2) + "\n"
    return apply_edits(text, list(_insertions(read_root(text, file), hooks, wrapped)))


def unmerge(text: str, *, wrapped: bool, file: str = "The file") -> str | None:
    """The text without our hooks, or None if registering made the file and nothing else is in it."""
    root = read_root(text, file)
    box = _hooks_box(root, wrapped)
    if box is None:
        return text
    edits: list[Edit] = []
    gone = set()
    for i, event in _events(box):
        taken = _without_ours(box.inner(event))
        if taken is None:
            gone.add(i)
        else:
            edits += taken
    if not gone or len(gone) < len(box.elements):
        return apply_edits(text, edits + box.remove(gone))
    return _without_hooks(root, box, wrapped)


def in_new_folder(text: str, *, wrapped: bool, file: str = "The file") -> bool:
    """Whether registering made the directory of the file, so that unregistering removes it."""
    box = _hooks_box(read_root(text, file), wrapped)
    return box is not None and any(_says(box.inner(event), _NO_FOLDER) for _, event in _events(box))


class Found(NamedTuple):
    """One hook of ours in a file."""

    file: str
    event: str
    command: str
    matcher: str


def our_hooks(text: str, *, wrapped: bool, file: str = "The file") -> list[Found]:
    box = _hooks_box(read_root(text, file), wrapped)
    return [Found(file, str(event.key), hook["command"], str(group.get("matcher", "")))
            for _, event in (_events(box) if box else ())
            for group in event.value for hook in _ours(group)]


# what is there

def _check(root: Box, hooks: Hooks, wrapped: bool, file: str) -> None:
    found = root.find("hooks") if wrapped else None
    if found and not isinstance(found.value, dict):
        raise SettingsUnreadable(file=file, problem='"hooks" is not an object')
    box = _hooks_box(root, wrapped)
    for event in box.elements if box else ():
        # A flat file may have other members at its top.
        if (wrapped or event.key in hooks) and not isinstance(event.value, list):
            raise SettingsUnreadable(file=file, problem=f"{json.dumps(event.key)} in the hooks is not a list")


def _hooks_box(root: Box, wrapped: bool) -> Box | None:
    if not wrapped:
        return root
    found = root.find("hooks")
    return root.inner(found) if found and isinstance(found.value, dict) else None


def _events(box: Box) -> Iterator[tuple[int, Element]]:
    return ((i, event) for i, event in enumerate(box.elements) if isinstance(event.value, list))


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and MARK in command


def _ours(group: Any) -> list[JsonObject]:
    return [hook for hook in _hooks_of(group) if _is_ours(hook)]


def _has_exactly(root: Box, hooks: Hooks, wrapped: bool) -> bool:
    """Whether exactly these hooks of ours are there: then nothing has to change, not even the layout."""
    box = _hooks_box(root, wrapped)
    there = {event.key: [group for group in event.value if _ours(group)] for _, event in _events(box)} \
        if box else {}
    return {event: groups for event, groups in there.items() if groups} == hooks


# putting in

def _insertions(root: Box, hooks: Hooks, wrapped: bool) -> Iterator[Edit]:
    style = Style(root)
    box = _hooks_box(root, wrapped)
    if box is None:
        order = _PLAIN if root.elements else _FILE_WAS_EMPTY
        ours = {event: _ordered(groups, order) for event, groups in hooks.items()}
        yield style.add(root, [("hooks", ours)])
        return
    order = _PLAIN if box.elements else _HOOKS_WERE_EMPTY if wrapped else _FILE_WAS_EMPTY
    new: list[tuple[str | None, Any]] = []
    for event, groups in hooks.items():
        there = box.find(event)
        if there is None:
            new.append((event, _ordered(groups, order)))
        else:
            inner = _PLAIN if there.value else _EVENT_WAS_EMPTY
            yield style.add(box.inner(there), [(None, group) for group in _ordered(groups, inner)])
    if new:
        yield style.add(box, new)


def _ordered(groups: list[JsonObject], order: tuple[str, ...]) -> list[JsonObject]:
    return [{**group, "hooks": [{key: hook[key] for key in (*order, *hook) if key in hook}
                                for hook in group["hooks"]]} for group in groups]


# taking out

def _without_ours(event: Box) -> list[Edit] | None:
    """The edits that take our hooks out of an event's list, or None if the event is removed with them."""
    edits: list[Edit] = []
    gone = set()
    for i, group in enumerate(event.elements):
        ours = _ours(group.value)
        if ours and len(ours) == len(_hooks_of(group.value)):
            gone.add(i)
        elif ours:
            edits += _from_mixed(event.inner(group))
    if not gone or len(gone) < len(event.elements):
        return edits + event.remove(gone)
    return [event.empty()] if _says(event, _EVENT_WAS_EMPTY) else None


def _from_mixed(group: Box) -> list[Edit]:
    found = group.find("hooks")
    assert found
    box = group.inner(found)
    return box.remove({i for i, hook in enumerate(box.elements) if _is_ours(hook.value)})


def _without_hooks(root: Box, box: Box, wrapped: bool) -> str | None:
    """The text without our hooks if there are no others."""
    events = [box.inner(event) for _, event in _events(box)]
    if wrapped and any(_says(event, _HOOKS_WERE_EMPTY) for event in events):
        return apply_edits(root.text, [box.empty()])
    if wrapped and len(root.elements) > 1:
        return apply_edits(root.text, root.remove({[e.key for e in root.elements].index("hooks")}))
    if any(_says(event, _FILE_WAS_EMPTY) for event in events):
        return apply_edits(root.text, [root.empty()])
    return None


def _says(event: Box, order: tuple[str, ...]) -> bool:
    return any(tuple(key for key in hook if key in _PLAIN) == order
               for group in event.elements for hook in _ours(group.value))
