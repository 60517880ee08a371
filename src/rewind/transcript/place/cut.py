"""Where exactly a checkpoint cuts the conversation. This is decided when the cut is needed.

Claude Code 2.1 appends lines up to 100 ms after a hook has run, and a prompt's own line is never there when
its hook runs. So the offset taken then only says where to start searching.
"""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.errors import TranscriptRewritten
from rewind.transcript.place.cursor import header_length, mark_of, place_in
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.entries import USER, entry_of, is_compaction
from rewind.transcript.read.lines import end_of_lines, events_forward, size_of
from rewind.transcript.read.prompts import blocks_of, content_of, has_block, prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.transcript.read.lines import Event

    Trigger = Mapping[str, object]  # what a checkpoint's record says about its event

_LOOK_BACK = 1 << 20  # when its hook runs, an event may be in the file already, near its end


class Cut:
    """Keep what is before `offset`. `leaf` is the entry to continue from. None means the last one that is
    kept, and an empty text means none, because the cut removes the beginning of its branch. `exact` is false
    if the place had to be guessed. `mark` identifies the place when the cut is used later."""

    def __init__(self, offset: int, leaf: str | None = None, exact: bool = True,
                 mark: Mapping[str, object] | None = None) -> None:
        self.offset = offset
        self.leaf = leaf
        self.exact = exact
        self.mark = mark

    def marked(self, file: BinaryIO) -> Cut:
        return Cut(self.offset, self.leaf, self.exact, mark_of(file, self.offset, header_length(file)))

    def placed(self, file: BinaryIO) -> Cut:
        """The same cut in the file as it is now, where line 1 may have another length."""
        if self.mark is None:
            return self
        place = place_in(file, self.mark)
        if place is None:
            raise TranscriptRewritten
        return Cut(place, self.leaf, self.exact, self.mark)


def resolve_cut(file: BinaryIO, profile: Profile, offset: int, trigger: Trigger) -> Cut:
    """The cut that a checkpoint stands for. `offset` is where the file ended at that time."""
    finders = {"UserPromptSubmit": _before_prompt, "Stop": _after_turn, "PreToolUse": before_tool,
               "PostToolUse": after_tool}
    finder = finders.get(str(trigger.get("event")))
    cut = finder(file, profile, offset, trigger) if finder else None
    if cut is None:
        # There are no keys, or they lead nowhere.
        cut = Cut(end_of_lines(file, min(offset, size_of(file))), None, finder is None)
    return _out_of_compaction(file, profile, cut)


def events_around(file: BinaryIO, offset: int) -> Iterator[Event]:
    """From a little before the offset on, starting with a complete line."""
    start = end_of_lines(file, max(0, offset - _LOOK_BACK))
    return events_forward(file, start)


def _before_prompt(file: BinaryIO, profile: Profile, offset: int,
                   trigger: Trigger) -> Cut | None:
    """A prompt's own line is not there yet when its hook runs, unless the checkpoint was late. A prompt that
    was typed while a turn ran has the id of that turn, so its text is compared as well."""
    return (_find_prompt(events_forward(file, offset), profile, trigger, need_both=False)
            or _find_prompt(events_around(file, offset), profile, trigger, need_both=True))


def _find_prompt(events: Iterator[Event], profile: Profile, trigger: Trigger, *,
                 need_both: bool) -> Cut | None:
    """Found by id and text. Unless `need_both`, one of them is enough if no prompt has both."""
    key, wanted = profile.prompt["joinKey"], trigger.get("promptId")
    text = str(trigger.get("promptText") or "").strip()
    by_id: Cut | None = None
    by_text: Cut | None = None
    for event in events:
        entry = entry_of(event, profile)
        if entry is None or not entry.prompt:
            continue
        cut = Cut(entry.offset, entry.parent)
        is_it = bool(wanted and key) and pick(event.data, key) == wanted
        says_it = bool(text) and prompt_text(event.data, profile).startswith(text)
        if is_it and (says_it or not text):
            return cut
        by_id = by_id or (cut if is_it else None)
        by_text = by_text or (cut if says_it else None)
    return None if need_both else by_text or by_id


def _after_turn(file: BinaryIO, profile: Profile, offset: int,
                trigger: Trigger) -> Cut | None:
    """Where something else begins (a prompt, a compaction, a command that a person ran), or the end. The last
    answer may have been written late, and even the turn's own prompt."""
    own = {trigger.get("promptId"), trigger.get("messageId")} - {None}
    key = profile.prompt["joinKey"]
    for event in events_forward(file, offset):
        entry = entry_of(event, profile)
        begins = entry and entry.speaker == USER and not _is_result(event, profile)
        if is_compaction(event.data, profile) or (begins and (not key or pick(event.data, key) not in own)):
            # Its parent is not the leaf: the agent may have been rewound before this prompt.
            return Cut(event.offset)
    return Cut(end_of_lines(file))


def _is_result(event: Event, profile: Profile) -> bool:
    return has_block(content_of(event.data, profile), profile.prompt["refuseBlocks"])


def before_tool(file: BinaryIO, profile: Profile, offset: int,
                 trigger: Trigger) -> Cut | None:
    wanted = trigger.get("toolUseId")
    for event in events_around(file, offset) if wanted else ():
        if _has_block(event, profile, "tool_use", "id", wanted):
            entry = entry_of(event, profile)
            return Cut(event.offset, entry.parent if entry else None)
    return None


def after_tool(file: BinaryIO, profile: Profile, offset: int,
                trigger: Trigger) -> Cut | None:
    wanted = trigger.get("toolUseId")
    for event in events_around(file, offset) if wanted else ():
        if _has_block(event, profile, "tool_result", "tool_use_id", wanted):
            return Cut(event.end)
    return None


def _has_block(event: Event, profile: Profile, kind: str, key: str, wanted: object) -> bool:
    return any(block.get("type") == kind and block.get(key) == wanted
               for block in blocks_of(event.data, profile))


def _out_of_compaction(file: BinaryIO, profile: Profile, cut: Cut) -> Cut:
    """A cut between a compaction and its summary would lose the history, so cut before the compaction."""
    if profile.compaction is None or not profile.compaction["summary"] or cut.leaf:
        return cut
    last = Tail(file, profile, cut.offset).last_main()
    if last is not None and last.is_compaction:
        return Cut(last.offset, None, cut.exact)
    return cut
