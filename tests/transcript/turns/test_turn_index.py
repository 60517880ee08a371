"""The index that is remembered says what reading the whole file says, however the file came to be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from make_transcripts import NO_EVENT, ClaudeTalk, DroidTalk, event_id, resumed
from other_pythons import examples
from rewind.agents.registry import profile_for, profile_named
from rewind.store.derived import DerivedDb
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.index import SessionIndex, read_index
from rewind.transcript.read.lines import open_transcript
from rewind.transcript.turns import turn_index
from rewind.transcript.turns.turn_index import TurnIndex, open_turns

SAMPLES = sorted((Path(__file__).parents[2] / "data" / "transcripts").rglob("*.jsonl"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[DerivedDb]:
    memory = DerivedDb(str(tmp_path / "memory.db"), "owner")
    yield memory
    memory.close()


def agree(found: TurnIndex, wanted: SessionIndex) -> None:
    assert [(r.turn, r.offset, r.uuid, r.stamp) for r in found.turns(1, 1 << 40)] == [
        (t.turn, t.offset, t.uuid, t.timestamp) for t in wanted.active_turns]
    assert [r.offset for r in found.abandoned(0, 1 << 40)] == [t.offset for t in wanted.turns if not t.active]
    assert (found.total, found.messages) == (len(wanted.active_turns), len(wanted.chain))
    assert (found.title, found.parent_session) == (wanted.title, wanted.parent_session)
    assert found.compactions == wanted.compactions


def both(path: Path, memory: DerivedDb) -> TurnIndex:
    profile = profile_for(str(path))
    found = open_turns(str(path), profile, memory)
    agree(found, read_index(str(path), profile))
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_it_agrees_with_the_whole_reading(sample: Path, memory: DerivedDb) -> None:
    both(sample, memory)
    both(sample, memory)  # as it is remembered


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_it_agrees_at_every_moment_of_a_growing_file(sample: Path, memory: DerivedDb, tmp_path: Path) -> None:
    data, path = sample.read_bytes(), tmp_path / sample.name
    profile = profile_for(str(sample))
    for end in [*range(0, len(data), max(1, len(data) // 40)), len(data)]:
        path.write_bytes(data[:end])
        agree(open_turns(str(path), profile, memory), read_index(str(path), profile))


class Talks:
    """Any sequence of what happens in a conversation."""

    steps = st.lists(st.one_of(
        st.tuples(st.just("turn")), st.tuples(st.just("tool")), st.tuples(st.just("parallel")),
        st.tuples(st.just("back"), st.integers(0, 30)), st.tuples(st.just("compact")),
        st.tuples(st.just("side")), st.tuples(st.just("named"), st.integers(0, 30), st.booleans()),
        st.tuples(st.just("unnamed"), st.booleans()), st.tuples(st.just("progress")),
        st.tuples(st.just("kept"), st.integers(0, 30)),
        st.tuples(st.just("command")), st.tuples(st.just("answer")), st.tuples(st.just("title")),
        st.tuples(st.just("lost")), st.tuples(st.just("wait"), st.integers(0, 9)),
        st.tuples(st.just("torn"))), max_size=25)

    @staticmethod
    def play(talk: ClaudeTalk, step: tuple[Any, ...], events: list[str]) -> None:
        kind = step[0]
        if kind == "turn":
            events += [talk.prompt("a prompt"), talk.answer("an answer")]
        elif kind == "tool":
            events.append(talk.tool("Bash", "result"))
        elif kind == "parallel":
            events.append(talk.parallel("one", "two"))
        elif kind == "back" and events:
            talk.back_to(events[step[1] % len(events)])
        elif kind == "compact":
            events.append(talk.compaction())
        elif kind == "side":
            talk.sidechain("a subagent")
        elif kind == "named" and events:
            talk.last_prompt(events[step[1] % len(events)], explicit=step[2])
        elif kind == "unnamed":
            talk.last_prompt(NO_EVENT if step[1] else event_id(0xFFFF), explicit=step[1])
        elif kind == "progress":
            events.append(talk.progress())
        elif kind == "kept" and events:
            first = step[1] % len(events)
            events.append(talk.compaction(events[max(0, first - 1)], (events[first], events[-1])))
        elif kind == "command":
            talk.user("<command-name>/x</command-name>")
        elif kind == "answer":
            talk.answer("more")
        elif kind == "title":
            talk.title("A title")
        elif kind == "lost":
            talk.back_to("ffffffff-0000-4000-8000-000000000000")
        elif kind == "wait":
            talk.wait(step[1])
        elif kind == "torn":
            talk.raw(b'{"type":"user","uu')


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@example(steps=[("command",), ("command",), ("tool",)], looks={1})
@given(steps=Talks.steps, looks=st.sets(st.integers(0, 25)))
def test_it_agrees_on_any_tree_however_often_it_was_looked_at(
        steps: list[tuple[Any, ...]], looks: set[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    memory, path = DerivedDb(str(folder / "memory.db"), "owner"), folder / "x.jsonl"
    talk, events, profile = ClaudeTalk(), [], profile_named("claude")
    for number, step in enumerate(steps):
        Talks.play(talk, step, events)
        if number in looks:
            path.write_bytes(talk.bytes())
            open_turns(str(path), profile, memory)
    path.write_bytes(talk.bytes())
    whole = read_index(str(path), profile)
    agree(open_turns(str(path), profile, memory), whole)
    memory.close()
    with open_transcript(str(path)) as file:
        assert [entry.id for entry in Tail(file, profile).chain()][::-1] == whole.chain, "from the tail"
    if ("torn",) not in steps:
        assert resumed("claude", talk.bytes()) == whole.chain, "as it was seen of the client"


# how much is read

class Reads:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.starts: list[int] = []
        forward = turn_index.lines_forward

        def noting(file: Any, start: int, end: int) -> Any:
            self.starts.append(start)
            return forward(file, start, end)

        monkeypatch.setattr(turn_index, "lines_forward", noting)


@pytest.mark.parametrize("talk", [ClaudeTalk(), DroidTalk()], ids=["claude", "droid"])
def test_a_file_that_grew_is_read_from_where_it_ended(talk: Any, memory: DerivedDb, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    talk.turn("one")
    path.write_bytes(talk.bytes())
    both(path, memory)
    size = path.stat().st_size
    reads = Reads(monkeypatch)
    both(path, memory)
    assert reads.starts == []
    talk.turn("two")
    path.write_bytes(talk.bytes())
    both(path, memory)
    assert reads.starts == [size]


def test_the_agents_own_rewind_to_long_ago_needs_no_new_reading(memory: DerivedDb, tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    talk, path = ClaudeTalk(), tmp_path / "x.jsonl"
    first = talk.turn("one")
    here = talk.here
    for number in range(400):
        talk.turn(f"turn {number}")
    path.write_bytes(talk.bytes())
    both(path, memory)
    size = path.stat().st_size
    talk.back_to(here)
    talk.turn("another way")
    path.write_bytes(talk.bytes())
    reads = Reads(monkeypatch)
    found = both(path, memory)
    assert reads.starts == [size]
    assert [row.prompt for row in found.turns(1, 9)] == ["one", "another way"]
    assert found.turns(1, 1)[0].uuid == first and len(found.abandoned(0, 1 << 40)) == 400


@pytest.mark.parametrize("change", ["shorter", "other head", "other end", "replaced"])
def test_a_file_that_is_another_one_is_read_anew(change: str, memory: DerivedDb, tmp_path: Path) -> None:
    talk, path = ClaudeTalk(), tmp_path / "x.jsonl"
    for text in ("one", "two", "three"):
        talk.turn(text)
    path.write_bytes(talk.bytes())
    both(path, memory)
    data = talk.bytes()
    talk.turn("four")
    new = {"shorter": data[:talk.offset(3)], "other head": talk.bytes().replace(b'"one"', b'"ONE more"'),
           "other end": talk.bytes().replace(b'"three"', b'"third"'), "replaced": DroidTalk().bytes()}[change]
    path.write_bytes(new)
    both(path, memory)


def test_line_one_may_be_rewritten(memory: DerivedDb, tmp_path: Path) -> None:
    talk, path = DroidTalk("A talk"), tmp_path / "x.jsonl"
    talk.turn("one")
    path.write_bytes(talk.bytes())
    both(path, memory)
    talk.turn("two")
    path.write_bytes(talk.bytes().replace(b'"A talk"', b'"A talk about something else"'))
    assert both(path, memory).title == "A talk about something else"


def test_without_a_memory_it_works_all_the_same(tmp_path: Path) -> None:
    class Forgetful:
        def query(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
            return []

        def write(self, changes: Any) -> bool:
            return False

    for sample in SAMPLES:
        profile = profile_for(str(sample))
        agree(open_turns(str(sample), profile, Forgetful()), read_index(str(sample), profile))


@pytest.mark.parametrize("state", ["", "nonsense", "[]", "{}", '{"profile": "claude"}',
                                   '{"profile": "claude", "facts": {}, "tree": null}'])
def test_a_rotten_memory_is_none(state: str, memory: DerivedDb, tmp_path: Path) -> None:
    talk, path = ClaudeTalk(), tmp_path / "x.jsonl"
    talk.turn("one")
    path.write_bytes(talk.bytes())
    both(path, memory)
    memory.write([("UPDATE turn_files SET state=?", [(state,)])])
    both(path, memory)


def test_an_id_that_is_there_twice_is_read_as_a_whole(memory: DerivedDb, tmp_path: Path) -> None:
    talk, path = ClaudeTalk(), tmp_path / "x.jsonl"
    talk.turn("one")
    again = json.loads(talk.lines[0])
    talk.turn("two")
    talk.add(again)
    path.write_bytes(talk.bytes())
    both(path, memory)
    talk.turn("three")
    path.write_bytes(talk.bytes())
    both(path, memory)
