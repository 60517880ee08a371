"""Whole turns, as they were said: in pages, without what was abandoned, within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from make_transcripts import ClaudeTalk, DroidTalk
from rewind.agents.registry import profile_for
from rewind.store.derived import DerivedDb
from rewind.transcript.turns.turn_blocks import Limits, TurnText, for_page
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.turns.turn_pages import left_processes, read_turns, search

DATA = Path(__file__).parents[2] / "data" / "transcripts"


class Reader:
    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.memory = DerivedDb(str(tmp_path / "memory.db"), "owner")

    def index(self, talk: Any) -> TurnIndex:
        path = talk
        if not isinstance(talk, Path):
            path = self.folder / "x.jsonl"
            path.write_bytes(talk.bytes())
        return open_turns(str(path), profile_for(str(path)), self.memory)

    def turns(self, talk: Any, first: int = 1, last: int = 1000, limits: Optional[Limits] = None
              ) -> list[TurnText]:
        return read_turns(self.index(talk), first, last, limits or for_page())


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.memory.close()


def said(turn: TurnText) -> list[str]:
    return [block.get("text") or block.get("name") or block["kind"] for block in turn.blocks]


def test_real_turns_are_read_as_a_person_saw_them(reader: Reader) -> None:
    turns = reader.turns(DATA / "claude" / "tui-compacted-live.jsonl")
    assert len(turns) == 13
    assert said(turns[0]) == ["I will write a file.", "Write", "Wrote a.txt v1."]
    parallel = turns[3].blocks
    assert [b["result"] is not None for b in parallel if b["kind"] == "tool"] == [True, True]
    assert turns[2].blocks[0]["isError"]
    assert turns[4].blocks[0] == {"kind": "thinking", "text": "let me think"}
    assert [t.row.turn for t in turns if t.compacted_before] == [13]
    notes = [block["text"] for block in turns[11].blocks if block["kind"] == "note"]
    assert any(note.startswith("This session is being continued") for note in notes)
    assert not any("\x1b" in str(block) for turn in turns for block in turn.blocks)


def test_what_the_agents_own_rewind_left_behind_is_not_shown(reader: Reader) -> None:
    turns = reader.turns(DATA / "claude" / "tui-builtin-rewind.jsonl")
    assert [t.prompt for t in turns] == ["PROMPT-ONE please", "AFTER-REWIND prompt"]
    assert said(turns[0]) == ["I will write a file.", "Write", "Wrote a.txt v1."]


def test_a_droid_turn_has_its_tools_and_not_its_hooks(reader: Reader) -> None:
    (turn,) = reader.turns(DATA / "droid" / "exec_tools_session.jsonl")
    kinds = [block["kind"] for block in turn.blocks]
    assert kinds[:3] == ["thinking", "text", "tool"] and kinds.count("tool") == 5
    assert all(b["result"] is not None for b in turn.blocks if b["kind"] == "tool")


@pytest.mark.parametrize("sample", sorted(DATA.rglob("*.jsonl")), ids=lambda p: p.stem)
def test_pages_put_together_are_the_whole(sample: Path, reader: Reader) -> None:
    whole = reader.turns(sample)
    index = reader.index(sample)
    assert len(whole) == index.total
    for size in (1, 2):
        pages = [turn for first in range(1, index.total + 1, size)
                 for turn in read_turns(index, first, first + size - 1, for_page())]
        for one, other in zip(pages, whole):
            assert (one.prompt, one.blocks, one.join, one.compacted_before) == (
                other.prompt, other.blocks, other.join, other.compacted_before)


def test_only_the_turns_that_are_asked_for_are_read(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.transcript.turns import turn_pages

    talk = ClaudeTalk()
    for number in range(100):
        talk.turn(f"turn {number}")
    index = reader.index(talk)
    ranges = []
    forward = turn_pages.lines_forward

    def noting(file: Any, start: int, end: int) -> Any:
        ranges.append((start, end))
        return forward(file, start, end)

    monkeypatch.setattr(turn_pages, "lines_forward", noting)
    read_turns(index, 99, 100, for_page())
    assert ranges == [(index.turns(99, 99)[0].offset, index.size)]


def test_a_torn_line_and_odd_shapes_do_no_harm(reader: Reader) -> None:
    talk = ClaudeTalk()
    talk.prompt("one")
    talk.raw(b'{"type":"assistant","uu')
    for content in (None, 1, {"a": 1}, [None, 1, "x", []], [{"type": "tool_use"}],
                    [{"type": "text", "text": 1}], [{"type": "image"}],
                    [{"type": "tool_use", "id": 5, "name": None, "input": "text"}],
                    [{"type": "thinking", "thinking": None}], "plain"):
        talk.entry("assistant", message={"role": "assistant", "content": content})
    talk.user([{"type": "tool_result", "tool_use_id": ["x"], "content": {"a": 1}}, 7])
    picture = {"type": "image", "source": 3}
    talk.user([{"type": "tool_result", "tool_use_id": "5", "content": [None, picture]}])
    (turn,) = reader.turns(talk)
    assert "plain" in said(turn)


def test_bounds_hold(reader: Reader) -> None:
    talk = ClaudeTalk()
    talk.prompt("x" * 100)
    for _ in range(2500):
        talk.answer("y" * 100)
    (turn,) = reader.turns(talk, limits=Limits(50, 1000, 0))
    assert turn.truncated and len(turn.prompt) == 50 and len(turn.blocks) == 2000
    assert sum(len(block["text"]) for block in turn.blocks) < 1000 + 2000 * 100 + 50
    assert reader.turns(talk, 2, 5) == [] and reader.turns(ClaudeTalk()) == []


def test_a_turn_names_the_files_of_its_editing_tools(reader: Reader) -> None:
    talk = ClaudeTalk()
    talk.prompt("edit")
    for name, given in (("Write", {"file_path": "/p/a"}), ("Edit", {"file_path": "b/../c"}),
                        ("Read", {"file_path": "/p/no"}), ("Write", {"file_path": 3}), ("Write", None),
                        ("NotebookEdit", {"notebook_path": "/p/n.ipynb"})):
        talk._assistant({"type": "tool_use", "id": "t", "name": name, "input": given})
    (turn,) = reader.turns(talk)
    assert turn.files == ["/p/a", "/home/dev/proj/c", "/p/n.ipynb"]
    droid = DroidTalk()
    droid.prompt("patch")
    droid.message("assistant", [{"type": "tool_use", "id": "t", "name": "ApplyPatch", "input": {
        "input": "*** Begin Patch\n*** Update File: /p/x.py\n@@\n*** Add File: /p/y.py\n"}}])
    (turn,) = reader.turns(droid)
    assert turn.files == ["/p/x.py", "/p/y.py"]


@pytest.mark.parametrize(("given", "wanted"), [
    ({"command": "ls -l"}, False), ({"command": "make && make install 2>&1"}, False),
    ({"command": "npm start &"}, True), ({"command": "server & sleep 1"}, True),
    ({"command": "ls", "run_in_background": True}, True), ({"command": "python -m http.server"}, True),
    ({"command": "cmd &> log"}, False), ({"command": 3}, False), ({}, False)])
def test_commands_that_may_leave_something_running_are_recognised(reader: Reader, given: dict[str, Any],
                                                                  wanted: bool) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.prompt("two")
    talk._assistant({"type": "tool_use", "id": "t", "name": "Bash", "input": given})
    index = reader.index(talk)
    assert left_processes(index, index.turns(2, 2)[0].offset) is wanted
    assert not left_processes(index, index.size)


def test_searching_does_not_find_what_was_abandoned(reader: Reader) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    here = talk.here
    talk.turn("needle abandoned")
    talk.back_to(here)
    talk.turn("two with a Needle")
    found, more = search(reader.index(talk), "needle")
    assert {match.turn for match in found} == {2} and not more
    assert search(reader.index(talk), "abandoned") == ([], False)


def test_a_match_names_its_block_also_after_a_compaction(reader: Reader) -> None:
    talk = DroidTalk()
    talk.turn("one")
    talk.prompt("two")
    talk.compaction()
    talk.answer("the needle")
    (match,), more = search(reader.index(talk), "needle")
    assert not more and match.turn == 2 and match.block is not None
    (turn,) = reader.turns(talk, 2, 2)
    assert turn.blocks[match.block] == {"kind": "text", "text": "the needle"}
