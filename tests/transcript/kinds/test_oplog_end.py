"""Of a long log of Gemini CLI's the end alone is read where that is certain, and says what the whole says."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oplogs import Talk, chats, line, lines_of, second_reader
from rewind.agents.registry import profile_named
from rewind.errors import NothingBeforeCut, RewindError
from rewind.transcript.kinds import oplog_end
from rewind.transcript.kinds.oplog_end import end_at, end_from
from rewind.transcript.kinds.oplog_view import View
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import open_transcript, read_at, size_of
from rewind.transcript.read.titles import read_title
from rewind.transcript.write.fork import write_fork

GEMINI = profile_named("gemini")


@pytest.fixture
def talk(project: Path) -> Talk:
    return Talk(project)


def count_as_long(monkeypatch: pytest.MonkeyPatch, window: int = 200) -> None:
    """From now on every log is a long one, and is read from its end in steps that begin with `window`."""
    monkeypatch.setattr(oplog_end, "LONG", 0)
    monkeypatch.setattr(oplog_end, "_WINDOW", window)


def shown(path: Path, offset: int = 0) -> bytes:
    with open_conversation(str(path), GEMINI) as file:
        return read_at(file, offset, size_of(file) - offset)


def say_turns(talk: Talk, count: int, tools: int = 2) -> None:
    for number in range(count):
        talk.prompt(f"prompt {number}")
        for _ in range(tools):
            talk.tool("write_file", "Done. " * 20, file_path="a.txt")
        talk.answer(f"Answer {number}.")


def check_from_every_line(path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> int:
    """Whoever reads from a line on sees what the whole log shows there. Returns how often the end alone was
    enough."""
    data, whole, alone, offset = path.read_bytes(), shown(path), 0, 0
    with monkeypatch.context() as patch:
        count_as_long(patch, window)
        for raw in lines_of(data):
            assert shown(path, offset) == whole[offset:]
            with open_transcript(str(path)) as file:
                alone += end_from(file, len(data), offset) is not None
            offset += len(raw)
    return alone


# what is shown

@pytest.mark.parametrize("seed", range(30))
def test_a_session_as_gemini_writes_it(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       seed: int) -> None:
    """Turns, resumptions, steps back and compactions."""
    chance, talk = random.Random(seed), Talk(tmp_path)
    prompts: list[str] = []
    for number in range(14):
        step = chance.randrange(12)
        known = [m["id"] for m in talk.messages if m["id"] in prompts]
        if step == 0 and number:
            talk.resume()
        elif step == 1 and number:
            talk.compact(chance.randrange(3))
        elif step == 2 and known:
            talk.rewind(chance.choice(known))
        else:
            prompts.append(talk.prompt(f"prompt {number}"))
            for _ in range(chance.randrange(3)):
                talk.tool("write_file", "Done.", file_path="a.txt")
            talk.answer(f"Answer {number}.")
    check_from_every_line(talk.write(home), monkeypatch, chance.choice([150, 400, 1000]))


@pytest.mark.parametrize("seed", range(40))
def test_any_operations_whose_messages_keep_their_times(
        home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """In any order, with ids that come again after a long time, of any type, and lines that are none."""
    chance, talk = random.Random(seed), Talk(tmp_path)
    times: dict[str, str] = {}

    def message() -> dict[str, Any]:
        id = chance.choice([f"id-{number}" for number in range(40)])
        type = chance.choice(["user", "user", "gemini", "gemini", "info"])
        text = chance.choice(["one", "two \u00fc", "/slash", "<session_context> x", ""])
        return {"id": id, "timestamp": times.setdefault(id, talk.now()), "type": type,
                "content": [{"text": text}]}

    for _ in range(60):
        kind = chance.randrange(40)
        if kind < 30:
            talk.add(message())
        elif kind < 31:
            talk.add({"$rewindTo": chance.choice([*times, "nobody"])})
        elif kind < 32:
            talk.add({"$set": {"messages": [message() for _ in range(chance.randrange(4))],
                               **({"lastUpdated": talk.now()} if chance.random() < 0.5 else {})}})
        elif kind < 38:
            talk.add({"$set": {"lastUpdated": talk.now()}})
        else:
            talk.lines.append(chance.choice([b"{torn\n", b"\n", b'{"id":"a"}{"id":"b"}\n', b"7\n"]))
    check_from_every_line(talk.write(home), monkeypatch, chance.choice([150, 400, 1000]))


def test_of_a_plain_session_the_last_half_is_enough(home: Path, talk: Talk,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    say_turns(talk, 12)
    path = talk.write(home)
    assert check_from_every_line(path, monkeypatch, 200) > len(talk.lines) // 4


@pytest.mark.parametrize("again", ["user", "gemini"])
def test_a_message_of_long_ago_that_is_written_again_is_noticed(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch, again: str) -> None:
    say_turns(talk, 6)
    old = next(m for m in talk.messages[1:] if m["type"] == again)
    say_turns(talk, 3)
    talk.add({**old, "content": [{"text": "said otherwise"}]})
    talk.answer("And on.")
    path = talk.write(home)
    with open_transcript(str(path)) as file:
        count_as_long(monkeypatch)
        size = size_of(file)
        assert end_from(file, size, size - len(talk.lines[-1])) is None
    monkeypatch.undo()
    check_from_every_line(path, monkeypatch, 200)


@pytest.mark.parametrize("stamp", [None, 7, "yesterday", "2026-11-15T08:00:00Z"])
def test_without_a_time_nothing_is_certain(home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch,
                                           stamp: object) -> None:
    """2026-11-15T08:00:00Z was long before."""
    say_turns(talk, 6)
    for number in range(3):
        talk.add({**talk.message("user", f"late {number}"), "timestamp": stamp})
        talk.add({"$set": {"lastUpdated": stamp}})
    path = talk.write(home)
    with open_transcript(str(path)) as file:
        count_as_long(monkeypatch)
        assert end_from(file, size_of(file), size_of(file) - 1) is None


def test_a_short_log_is_read_as_a_whole(home: Path, talk: Talk) -> None:
    say_turns(talk, 6)
    with open_transcript(str(talk.write(home))) as file:
        assert end_from(file, size_of(file), size_of(file) - 1) is None
        assert end_at(file, size_of(file)) is None


def test_a_log_only_grew_if_nothing_before_that_place_changed(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    say_turns(talk, 6)
    before = len(talk.data)
    say_turns(talk, 1)
    for long in (False, True):
        if long:
            count_as_long(monkeypatch)
        with open_transcript(str(talk.write(home))) as file:
            assert View(file).only_grew(before), "an answer that was completed came later itself"
            assert not View(file).only_grew(len(talk.data) - sum(map(len, talk.lines[-6:]))), "it changed"
    talk.rewind(talk.messages[1]["id"])
    with open_transcript(str(talk.write(home))) as file:
        assert not View(file).only_grew(before)


# forks

class Made(NamedTuple):
    data: bytes
    is_copy: bool


def fork_before(path: Path, n: int) -> Made:
    found = find_boundary_by_user_prompts(str(path), n, GEMINI)
    made = Path(write_fork(str(path), GEMINI, found.cut, original=str(path)).path)
    data, kept = made.read_bytes(), path.read_bytes()[:found.boundary]
    made.unlink()
    head = lines_of(kept)[0]
    return Made(data, data.split(b"\n", 1)[1].startswith(kept[len(head):]))


@pytest.mark.parametrize("seed", range(20))
def test_a_fork_of_a_long_log_amounts_to_what_was_said_before(
        home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whether it is a copy of the records or has the messages alone."""
    chance, talk = random.Random(seed), Talk(tmp_path)
    for number in range(10):
        if chance.random() < 0.2 and number:
            talk.resume()
        if chance.random() < 0.1 and number:
            talk.compact()
        say_turns(talk, 1, chance.randrange(3))
    path = talk.write(home)
    count_as_long(monkeypatch)
    copies = 0
    for n in range(1, len(read_index(str(path), GEMINI).active_turns)):
        boundary = find_boundary_by_user_prompts(str(path), n, GEMINI).boundary
        made = fork_before(path, n)
        kept = [m["id"] for m in second_reader(talk.data[:boundary])]
        assert [m["id"] for m in second_reader(made.data)] == kept
        copies += made.is_copy
    assert copies, "none of them was copied"
    assert path.read_bytes() == talk.data


def test_a_copy_has_names_of_its_own(home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the records within it say again whose they are."""
    say_turns(talk, 6)
    talk.resume()
    say_turns(talk, 2)
    path = talk.write(home)
    count_as_long(monkeypatch)
    found = find_boundary_by_user_prompts(str(path), 1, GEMINI)
    fork = write_fork(str(path), GEMINI, found.cut, original=str(path))
    told: dict[str, Any] = {}
    for record in map(json.loads, Path(fork.path).read_bytes().splitlines()):
        told.update(record.get("$set") or (record if "sessionId" in record else {}))
    assert (told["sessionId"], told["summary"]) == (fork.session_id, "[Fork] prompt 0")
    assert told["startTime"] > "2026-11-15T09" and told["projectHash"] == "f" * 64
    index = read_index(fork.path, GEMINI)
    assert index.session_id == fork.session_id and index.title == "[Fork] prompt 0"
    assert [t.prompt for t in index.active_turns] == [*(f"prompt {n}" for n in range(6)), "prompt 0"]
    again = find_boundary_by_user_prompts(fork.path, 1, GEMINI)
    twice = write_fork(fork.path, GEMINI, again.cut, original=fork.path)
    assert read_index(twice.path, GEMINI).title == "[Fork] [Fork] prompt 0"


def test_what_node_takes_for_the_end_of_a_line_is_not_copied(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.prompt("two\u2028lines")
    talk.answer("So\u2029be it.")
    say_turns(talk, 6)
    path = talk.write(home)
    count_as_long(monkeypatch)
    made = fork_before(path, 1)
    assert not made.is_copy and "\u2028".encode() not in made.data
    texts = [m["content"] for m in second_reader(made.data)]
    assert [{"text": "two\u2028lines"}] in texts and "So\u2029be it." in texts


def test_an_answer_that_has_only_begun_is_not_copied(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    say_turns(talk, 6)
    talk.prompt("one more")
    begun = talk.say("gemini", "", thoughts=[], model="m")
    path = talk.write(home)
    count_as_long(monkeypatch)
    fork = write_fork(str(path), GEMINI, Cut(len(talk.data)), original=str(path))
    said = [m["id"] for m in second_reader(Path(fork.path).read_bytes())]
    assert said == [m["id"] for m in talk.messages if m["id"] != begun]


@pytest.mark.parametrize("where", ["first", "before", "after"])
def test_a_record_that_nobody_knows_near_the_cut_is_no_fork(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    if where == "first":
        talk.add({"$branch": "x"})
    say_turns(talk, 6)
    if where == "before":
        talk.add({"$branch": "x"})
    talk.prompt("the last")
    if where == "after":
        talk.add({"$branch": "x"})
    path = talk.write(home)
    count_as_long(monkeypatch)
    with pytest.raises(RewindError, match=r"does not know \(\$branch\)"):
        fork_before(path, 1)


@pytest.mark.parametrize("header", [{"sessionId": "s"},
                                    {"sessionId": "s", "projectHash": "h", "kind": "subagent"}])
def test_what_is_no_session_of_a_person_is_not_copied(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch, header: dict[str, str]) -> None:
    say_turns(talk, 6)
    talk.lines[0] = line(header)
    count_as_long(monkeypatch)
    with pytest.raises(RewindError, match="cannot be forked"):
        fork_before(talk.write(home), 1)


def test_between_a_stub_and_its_messages_nothing_is_said(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log begins anew before it has its messages again: what came before counts, so it is folded."""
    say_turns(talk, 6)
    kept = [m["id"] for m in talk.messages]
    talk.header()
    path = talk.write(home)
    count_as_long(monkeypatch)
    fork = write_fork(str(path), GEMINI, Cut(len(talk.data)), original=str(path))
    assert [m["id"] for m in second_reader(Path(fork.path).read_bytes())] == kept


def test_before_the_first_prompt_there_is_nothing_to_resume(
        home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    say_turns(talk, 6)
    count_as_long(monkeypatch)
    with pytest.raises(NothingBeforeCut):
        fork_before(talk.write(home), 6)


# titles

def test_the_title_is_told_by_the_beginning(home: Path, project: Path) -> None:
    """The first prompt, also where it was taken back; of a beginning without any, the first later on."""
    talk = Talk(project)
    first = talk.prompt("first of all")
    talk.answer("x" * 600_000)
    talk.prompt("second")
    talk.rewind(first)
    late = Talk(project)
    late.say("info", "x" * 600_000)
    late.prompt("after a while")
    for one, title in ((talk, "first of all"), (late, "after a while")):
        path = chats(home, project) / f"session-{one.id}.jsonl"
        path.write_bytes(one.data)
        with open_conversation(str(path), GEMINI) as file:
            assert read_title(file, GEMINI) == title
