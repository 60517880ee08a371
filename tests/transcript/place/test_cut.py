"""Where each kind of checkpoint cuts the conversation, whatever the file looked like when its hook ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest

from make_transcripts import ClaudeTalk, DroidTalk, Talk, resumed
from rewind.agents.registry import profile_named
from rewind.transcript.place.cut import Cut, resolve_cut
from rewind.transcript.read.lines import open_transcript
from rewind.transcript.write.fork import write_fork


class Cutter:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "s.jsonl"

    def __call__(self, talk: Talk, offset: int, event: Optional[str] = None, *, tail: bytes = b"",
                 **keys: Any) -> Cut:
        agent = "droid" if isinstance(talk, DroidTalk) else "claude"
        self.path.write_bytes(talk.bytes() + tail)
        trigger = {**({"event": event} if event else {}), **keys}
        with open_transcript(str(self.path)) as file:
            return resolve_cut(file, profile_named(agent), offset, trigger)

    def resumed(self, cut: Cut) -> list[str]:
        """What the client goes on from, in a fork that is cut there."""
        fork = write_fork(str(self.path), profile_named("claude"), cut, original=str(self.path))
        return resumed("claude", Path(fork.path).read_bytes())


@pytest.fixture
def cut(tmp_path: Path, home: Path) -> Cutter:
    return Cutter(tmp_path)


def two_turns() -> tuple[ClaudeTalk, int]:
    """The talk, and where the second turn begins."""
    talk = ClaudeTalk()
    talk.prompt("one", promptId="p1")
    talk.answer("1")
    at = len(talk.bytes())
    talk.prompt("two", promptId="p2")
    talk.answer("2")
    return talk, at


# UserPromptSubmit

def test_a_prompt_is_cut_before_its_line_which_came_after_the_hook(cut: Cutter) -> None:
    talk, at = two_turns()
    found = cut(talk, at, "UserPromptSubmit", promptId="p2", promptText="two")
    assert (found.offset, found.exact) == (at, True)


def test_lines_that_came_late_before_the_prompt_are_kept(cut: Cutter) -> None:
    talk, at = two_turns()
    lagging = talk.offset(1)  # the answer of turn 1 was not in the file yet
    found = cut(talk, lagging, "UserPromptSubmit", promptId="p2", promptText="two")
    assert (found.offset, found.exact) == (at, True)
    assert found.leaf is not None


def test_a_prompt_that_was_in_the_file_already_is_found_before_the_offset(cut: Cutter) -> None:
    talk, at = two_turns()
    found = cut(talk, len(talk.bytes()), "UserPromptSubmit", promptId="p2")
    assert (found.offset, found.exact) == (at, True)


def test_also_when_its_text_is_known_as_by_a_checkpoint_that_was_made_late(cut: Cutter) -> None:
    """A slow checkpoint is left to a process that goes on after the hook: then the line is there."""
    talk, at = two_turns()
    found = cut(talk, len(talk.bytes()), "UserPromptSubmit", promptId="p2", promptText="two")
    assert (found.offset, found.exact) == (at, True)


def test_a_prompt_without_an_id_is_found_by_its_text(cut: Cutter) -> None:
    talk, at = two_turns()
    assert cut(talk, at, "UserPromptSubmit", promptText="two").offset == at


def test_a_text_that_was_said_before_is_looked_for_from_the_offset_on(cut: Cutter) -> None:
    talk, at = two_turns()
    talk.prompt("one", promptId="p3")
    again = talk.offset(-1)
    found = cut(talk, at, "UserPromptSubmit", promptText="one")
    assert (found.offset, found.exact) == (again, True)


def test_a_queued_prompt_is_found_by_its_text_for_it_carries_the_running_turns_id(cut: Cutter) -> None:
    talk = ClaudeTalk()
    talk.prompt("one", promptId="p1")
    offset = len(talk.bytes())
    talk.answer("1")
    at = len(talk.bytes())
    talk.prompt("queued", promptId="p-other", promptSource="queued")
    found = cut(talk, offset, "UserPromptSubmit", promptId="p1", promptText="queued")
    assert (found.offset, found.exact) == (at, True)


def test_a_long_queued_prompt_is_found_by_its_first_characters(cut: Cutter) -> None:
    talk, at = two_turns()
    end = len(talk.bytes())
    talk.prompt("queued " + "y" * 500, promptId="p9", promptSource="queued")
    text = ("queued " + "y" * 500)[:200]
    assert cut(talk, at, "UserPromptSubmit", promptId="p2", promptText=text).offset == end


@pytest.mark.parametrize("keys", [{"promptId": "p-none"}, {"promptText": "never said"}, {},
                                  {"promptId": 7, "promptText": None}])
def test_a_prompt_that_never_came_falls_back_to_the_offset_and_says_so(cut: Cutter,
                                                                       keys: dict[str, Any]) -> None:
    talk, at = two_turns()
    found = cut(talk, at, "UserPromptSubmit", **keys)
    assert (found.offset, found.leaf, found.exact) == (at, None, False)


def test_a_prompt_of_droid_is_found_by_its_message_id(cut: Cutter) -> None:
    talk = DroidTalk()
    talk.turn("one")
    offset = len(talk.bytes())
    talk.context("files changed")
    at = len(talk.bytes())
    prompt = talk.prompt("two")
    found = cut(talk, offset, "UserPromptSubmit", promptId=prompt)
    assert (found.offset, found.exact) == (at, True)


def test_a_prompt_typed_after_the_clients_own_rewind_leads_to_its_real_parent(cut: Cutter) -> None:
    talk = ClaudeTalk()
    talk.prompt("one", promptId="p1")
    one = talk.answer("1")
    talk.prompt("abandoned", promptId="p2")
    talk.answer("2")
    offset = len(talk.bytes())
    talk.back_to(one)
    talk.prompt("instead", promptId="p3")
    found = cut(talk, offset, "UserPromptSubmit", promptId="p3")
    assert (found.offset, found.leaf) == (offset, one)
    assert cut.resumed(found)[-1] == one


# Stop

def test_a_turn_is_cut_at_the_next_prompt(cut: Cutter) -> None:
    talk, at = two_turns()
    lagging = talk.offset(1)
    found = cut(talk, lagging, "Stop", promptId="p1")
    assert (found.offset, found.exact) == (at, True)


def test_the_last_turn_is_cut_at_the_end_of_the_lines(cut: Cutter) -> None:
    talk, at = two_turns()
    found = cut(talk, at, "Stop", promptId="p2", tail=b'{"torn')
    assert (found.offset, found.exact) == (len(talk.bytes()), True)


def test_the_turns_own_prompt_may_come_late_and_is_not_the_next_one(cut: Cutter) -> None:
    talk, at = two_turns()
    end = len(talk.bytes())
    talk.prompt("three", promptId="p3")
    assert cut(talk, at, "Stop", promptId="p2").offset == end


def test_late_lines_that_are_no_prompts_belong_to_the_turn(cut: Cutter) -> None:
    talk, _ = two_turns()
    stop = len(talk.bytes())
    talk.entry("system", subtype="stop_hook_summary")
    talk.add({"type": "custom-title", "customTitle": "x"})
    end = len(talk.bytes())
    talk.prompt("three", promptId="p3")
    assert cut(talk, stop, "Stop", promptId="p2").offset == end


def test_a_compaction_after_the_turn_is_no_part_of_it(cut: Cutter) -> None:
    talk, _ = two_turns()
    stop = len(talk.bytes())
    talk.entry("system", subtype="stop_hook_summary")
    end = len(talk.bytes())
    talk.compaction()
    talk.prompt("three", promptId="p3")
    assert cut(talk, stop, "Stop", promptId="p2").offset == end


def test_a_turn_of_droid_includes_the_outcome_that_is_written_after_the_hook(cut: Cutter) -> None:
    talk = DroidTalk()
    talk.prompt("one")
    answer = talk.answer("1")
    offset = len(talk.bytes())
    talk.add({"type": "agent_turn_outcome", "turnId": "x", "reason": "completed"})
    end = len(talk.bytes())
    talk.prompt("two")
    assert cut(talk, offset, "Stop", messageId=answer).offset == end


def test_a_finished_turn_that_the_client_rewound_later_is_still_resumed(cut: Cutter) -> None:
    """The prompt that comes next in the file hangs off an older entry: it says nothing of this turn."""
    talk = ClaudeTalk()
    talk.prompt("one", promptId="p1")
    one = talk.answer("1")
    two = talk.prompt("two", promptId="p2")
    answer = talk.answer("2")
    stop = len(talk.bytes())
    talk.back_to(one)
    talk.prompt("instead of two", promptId="p3")
    talk.answer("3")
    found = cut(talk, stop, "Stop", promptId="p2")
    assert found.offset == stop
    assert cut.resumed(found)[-2:] == [two, answer]


# tools

def tool_turn() -> tuple[ClaudeTalk, dict[str, int]]:
    """A turn with one tool call, and where its lines begin."""
    talk = ClaudeTalk()
    talk.prompt("one", promptId="p1")
    places = {"call": len(talk.bytes())}
    talk._assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}})
    places["result"] = len(talk.bytes())
    talk.user([{"type": "tool_result", "tool_use_id": "t1", "content": "done"}], toolUseResult={})
    places["after"] = len(talk.bytes())
    talk.answer("all done")
    return talk, places


@pytest.mark.parametrize("offset", ["call", "result", "after"])
def test_before_a_tool_call_is_before_the_line_that_makes_it(cut: Cutter, offset: str) -> None:
    talk, places = tool_turn()
    found = cut(talk, places[offset], "PreToolUse", toolUseId="t1")
    assert (found.offset, found.exact) == (places["call"], True)


@pytest.mark.parametrize("offset", ["call", "result", "after"])
def test_after_a_tool_call_is_after_the_line_with_its_result(cut: Cutter, offset: str) -> None:
    talk, places = tool_turn()
    found = cut(talk, places[offset], "PostToolUse", toolUseId="t1")
    assert (found.offset, found.exact) == (places["after"], True)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
@pytest.mark.parametrize("keys", [{}, {"toolUseId": "t-none"}, {"toolUseId": ["t1"]}])
def test_a_tool_call_that_is_nowhere_falls_back_to_the_offset_and_says_so(cut: Cutter, event: str,
                                                                         keys: dict[str, Any]) -> None:
    talk, places = tool_turn()
    found = cut(talk, places["result"], event, **keys)
    assert (found.offset, found.exact) == (places["result"], False)


def test_a_tool_that_failed_before_its_result_is_cut_before_the_call(cut: Cutter) -> None:
    talk = ClaudeTalk()
    talk.prompt("one")
    at = len(talk.bytes())
    talk._assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}})
    assert cut(talk, at, "PreToolUse", toolUseId="t1").offset == at
    assert cut(talk, at, "PostToolUse", toolUseId="t1").exact is False


def test_the_id_of_a_tool_call_quoted_in_a_text_is_not_the_call(cut: Cutter) -> None:
    talk, places = tool_turn()
    talk.prompt('look at {"type":"tool_use","id":"t9"}')
    assert cut(talk, places["after"], "PreToolUse", toolUseId="t9").exact is False


# without keys

@pytest.mark.parametrize("event", [None, "SessionStart", "restore", "SomethingNew"])
def test_without_keys_the_offset_is_the_cut(cut: Cutter, event: Optional[str]) -> None:
    talk, at = two_turns()
    found = cut(talk, at, event)
    assert (found.offset, found.leaf, found.exact) == (at, None, True)


def test_an_offset_behind_the_last_complete_line_is_brought_back_to_it(cut: Cutter) -> None:
    talk, _ = two_turns()
    end = len(talk.bytes())
    assert cut(talk, end + 6, tail=b'{"torn":').offset == end


# compaction

def compacted() -> tuple[ClaudeTalk, int, int, int]:
    """The talk; where the boundary, the summary and the next prompt begin."""
    talk = ClaudeTalk()
    talk.turn("one")
    boundary = len(talk.bytes())
    talk.compaction()
    summary = talk.offset(-1)
    after = len(talk.bytes())
    talk.prompt("two", promptId="p2")
    talk.answer("2")
    return talk, boundary, summary, after


def test_a_cut_never_falls_between_a_compaction_and_its_summary(cut: Cutter) -> None:
    talk, boundary, summary, after = compacted()
    assert cut(talk, summary).offset == boundary
    assert cut(talk, boundary).offset == boundary
    assert cut(talk, after).offset == after


def test_also_where_other_lines_stand_between_the_two(cut: Cutter) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    boundary = len(talk.bytes())
    talk.here = None
    talk.entry("system", subtype="compact_boundary", logicalParentUuid=talk.here)
    talk.add({"type": "file-history-snapshot", "messageId": "x"})
    between = len(talk.bytes())
    talk.user("This session is being continued from", isCompactSummary=True)
    assert cut(talk, between).offset == boundary
    assert cut(talk, between, "Stop").offset == boundary


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit"])
def test_a_guessed_cut_stays_out_of_a_compaction_too(cut: Cutter, event: str) -> None:
    talk, boundary, summary, _ = compacted()
    found = cut(talk, summary, event)
    assert (found.offset, found.exact) == (boundary, False)


def test_the_prompt_after_a_compaction_keeps_the_summary(cut: Cutter) -> None:
    talk, _, summary, after = compacted()
    found = cut(talk, summary, "UserPromptSubmit", promptId="p2")
    assert (found.offset, found.exact) == (after, True)


def test_any_bytes_at_all_give_a_cut_within_the_file(cut: Cutter) -> None:
    for data in (b"", b"\n", b"{", b"\xff\n{}\n", b'{"type":"user"}'):
        cut.path.write_bytes(data)
        with open_transcript(str(cut.path)) as file:
            for event in ("UserPromptSubmit", "Stop", "PreToolUse", "PostToolUse", ""):
                found = resolve_cut(file, profile_named("claude"), len(data) + 5,
                                    {"event": event, "promptId": "x", "toolUseId": "y", "promptText": "z"})
                assert 0 <= found.offset <= len(data)
