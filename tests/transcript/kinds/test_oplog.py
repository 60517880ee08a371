"""Gemini CLI's sessions: recorded ones, with what is true of them worked out by hand, and made-up ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oplogs import (
    Talk,
    chats,
    line,
    lines_of,
    place_sample,
    prompts_in,
    sample,
    second_reader,
    start,
)
from rewind.agents.registry import profile_for, profile_named
from rewind.errors import NothingBeforeCut, RewindError
from rewind.transcript.find import project_sessions, session_anywhere
from rewind.transcript.kinds import jsonl_oplog, oplog_reading
from rewind.transcript.kinds.oplog_fold import fold
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import open_transcript, read_at, size_of
from rewind.transcript.turns.turn_blocks import for_page
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_pages import read_turns
from rewind.transcript.write.fork import write_fork
from transcript.kinds.test_rollout_fuzz import NoMemory

GEMINI = profile_named("gemini")


class Golden(NamedTuple):
    """Of a sample. `turns`: (line, prompt, whether it counts)."""

    session: str
    title: str
    turns: list[tuple[int, str, bool]]
    chain: list[str]  # how ids begin, in order
    compactions: list[int]  # lines
    forks: dict[int, list[str]]  # back N -> how the ids of the messages in the fork begin


GOLDEN = {
    "01": Golden(
        "571f0811-1553-484e-ae7a-8a5d1434de38", "WRITE:/home/dev/work/proj-g/smp.txt:s",
        [(2, "WRITE:/home/dev/work/proj-g/smp.txt:s", True)],
        ["2806f93a", "7c9aac9a", "7f0c1c34", "d096bb40"], [], {}),
    "02": Golden(
        "b563b9e7-eb39-48ca-a312-665749ba6292", "tui one",
        [(2, "tui one", True), (6, "WRITE:/home/dev/work/proj-g/e.txt:eee", True), (15, "tui three", False),
         (21, "after native rewind", True)],
        ["7c3d1445", "e2271711", "d866241f", "54ac1bc8", "93be4b46", "570ba71b", "90fce26e"], [],
        # The sample's list after the rewind was cut short: it lacks the answer 2eb1e198.
        {1: ["7c3d1445", "e2271711", "d866241f", "54ac1bc8", "54ac1bc8", "93be4b46"],
         2: ["d04923d3", "7c3d1445", "e2271711"]}),
    "03": Golden(
        "b9f59285-7409-462a-a207-955299ce4103", "Rewound before: WRITE c.txt",
        # The lists in the sample were cut short to six messages: what they lack is gone.
        [(2, "first prompt alpha", True), (4, "WRITE:/home/dev/work/proj-g/b.txt:bee", True),
         (11, "tui on fork", False), (18, "2nd resume of fork", True)],
        ["e76eff6a", "304514e2", "1691b7fd", "0525e6a7", "0525e6a7", "4a72139a", "119520ae"], [],
        {1: ["d04923d3", "e76eff6a", "304514e2", "1691b7fd", "0525e6a7", "0525e6a7"],
         2: ["d04923d3", "e76eff6a", "304514e2"]}),
    "04": Golden(
        "36b229e0-71c5-44ff-a38c-45b1e5eb366a", "PROMPT-ONE please",
        [(2, "PROMPT-ONE please", True), (15, "PROMPT-TWO please", True), (28, "PROMPT-THREE please", True)],
        ["4b871829", "f454c471", "fce9990c", "993f673f", "21dbebc9", "ed6a756e", "419f1dad", "6eb8b3d5",
         "d18e4751", "2285d08f", "0156ca59", "87a78ac6"], [],
        {1: ["d04923d3", "4b871829", "f454c471", "f454c471", "fce9990c", "993f673f", "21dbebc9", "ed6a756e",
             "ed6a756e", "419f1dad", "6eb8b3d5"],
         2: ["d04923d3", "4b871829", "f454c471", "f454c471", "fce9990c", "993f673f"]}),
    "05": Golden(
        "81bad39b-63e2-42d6-8999-4e2223d6a55e", "PROMPT-ONE please xxx",
        [(2, "PROMPT-ONE please xxx", True), (17, "PROMPT-TWO please", True),
         (32, "PROMPT-THREE please", True), (45, "PROMPT-FOUR", True)],
        ["4cc8aa63", "3248f19e", "f5726691", "b7d29abd", "fb49e606", "04a3f04d", "022ff3a6", "ca2a6e9b",
         "2383aedb", "cf15c6a9", "2e196e07", "6c2df4e4", "a200514c", "007588c3"], [16, 23, 38],
        {1: ["d04923d3", "d77fe256", "4283a4fd", "57debdf7", "ebf766e7", "2e196e07", "6c2df4e4"],
         2: ["d04923d3", "6deb107d", "dd5ba400", "0e1a4aa0", "be03d7ab", "022ff3a6", "ca2a6e9b"],
         3: ["d04923d3", "78683e4b", "6b74b11d"]}),
    "06": Golden("81bad39b-63e2-42d6-8999-4e2223d6a55e", "", [], [], [], {}),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    found = tmp_path / "proj"
    found.mkdir()
    return found


@pytest.mark.parametrize("number", GOLDEN)
def test_a_recorded_session_is_read_as_it_was(home: Path, project: Path, number: str) -> None:
    golden, data = GOLDEN[number], sample(number)
    path = place_sample(home, project, number)
    assert profile_for(str(path)).name == "gemini"
    index = read_index(str(path))
    assert (index.session_id, index.title) == (golden.session, golden.title)
    assert [(t.offset, t.prompt, t.active) for t in index.turns] == [
        (start(data, line), text, active) for line, text, active in golden.turns]
    assert [id[:8] for id in index.chain] == golden.chain
    assert index.compactions == [start(data, line) for line in golden.compactions]
    turns = open_turns(str(path), GEMINI, NoMemory())
    assert turns.total == len(index.active_turns) and turns.compactions == index.compactions


@pytest.mark.parametrize("number", GOLDEN)
def test_a_recorded_session_is_forked_before_each_prompt(home: Path, project: Path, number: str) -> None:
    golden, data = GOLDEN[number], sample(number)
    path = place_sample(home, project, number)
    active = [(line, text) for line, text, counts in golden.turns if counts]
    for n in range(1, len(active) + 1):
        found = find_boundary_by_user_prompts(str(path), n, GEMINI)
        assert found.boundary == start(data, active[-n][0])
        assert [p.text for p in found.prompts] == [text for _, text in active[-n:]]
        if n not in golden.forks:
            assert not found.resumable
            with pytest.raises(NothingBeforeCut):
                write_fork(str(path), GEMINI, found.cut, original=str(path))
            continue
        fork = write_fork(str(path), GEMINI, found.cut, original=str(path))
        head, *said = map(json.loads, Path(fork.path).read_bytes().splitlines())
        assert [m["id"][:8] for m in said] == golden.forks[n]
        assert head["sessionId"] == fork.session_id and head["kind"] == "main"
        assert head["summary"] == f"[Fork] {golden.title}" == read_index(fork.path).title
        assert head["projectHash"] == json.loads(lines_of(data)[0])["projectHash"]
    assert path.read_bytes() == data


def test_a_forks_name_cannot_end_like_its_id() -> None:
    """Gemini CLI deletes all files of that ending when it finds a stub."""
    for id in ("abcdef12-0000-4000-8000-0000abcdef12", "00000000-0000-4000-8000-000000000000"):
        name = Path(oplog_reading.path_beside("/x/chats/session-1.jsonl", id)).name
        assert name.startswith("session-") and len(name.rpartition("-")[2]) == len("rw123456.jsonl")
        assert not name.endswith(f"-{id[:8]}.jsonl")
        assert oplog_reading.session_id_of(f"/x/chats/{name}") == id


def test_the_view_has_the_files_length_and_its_messages_in_their_places(home: Path, project: Path) -> None:
    for number in GOLDEN:
        path, data = place_sample(home, project, number), sample(number)
        with open_conversation(str(path), GEMINI) as file:
            assert size_of(file) == len(data)
            seen = read_at(file, 0, len(data))
            pieces = b"".join(read_at(file, at, 7) for at in range(0, len(data), 7))
        assert pieces == seen and len(seen) == len(data)
        for at, raw in zip(range(10**9), lines_of(seen)):
            assert not raw.strip() or json.loads(raw), at


# made-up ones

@pytest.fixture
def talk(project: Path) -> Talk:
    """Two turns; the first with a tool."""
    found = Talk(project)
    found.prompt("one")
    found.tool("write_file", "Done.", file_path="a.txt")
    found.answer("First.")
    found.prompt("two")
    found.answer("Second.")
    return found


def forked(path: Path, n: int) -> list[dict[str, Any]]:
    cut = find_boundary_by_user_prompts(str(path), n, GEMINI).cut
    made = write_fork(str(path), GEMINI, cut, original=str(path))
    return [json.loads(raw) for raw in Path(made.path).read_bytes().splitlines()][1:]


def test_a_prompt_stands_where_it_was_given_however_often_it_is_written_again(home: Path, talk: Talk) -> None:
    before = [t.offset for t in read_index(str(talk.write(home))).turns]
    talk.resume()
    talk.prompt("three")
    path = talk.write(home)
    index = read_index(str(path))
    assert [t.prompt for t in index.active_turns] == ["one", "two", "three"]
    assert [t.offset for t in index.turns][:2] == before
    # A fork keeps the time at which something was said, not that of the last resumption.
    own = {m["id"]: m["timestamp"] for m in map(json.loads, talk.lines) if m.get("type") == "user"}
    kept = [m for m in forked(path, 1) if m["id"] in own]
    assert kept and all(m["timestamp"] <= own[m["id"]] for m in kept)


def test_between_a_stub_and_its_messages_nothing_is_lost(home: Path, talk: Talk) -> None:
    talk.header()
    path = talk.write(home)
    assert [t.prompt for t in read_index(str(path)).active_turns] == ["one", "two"]
    with open_transcript(str(path)) as file:
        assert prompts_in(list(fold(file).messages.values())) == ["one", "two"]


def test_what_was_kept_of_a_turn_by_a_compaction_is_the_same_prompt(home: Path, talk: Talk) -> None:
    talk.compact(keep=2)  # the second turn
    talk.resume()
    third = talk.prompt("three")
    path = talk.write(home)
    index = read_index(str(path))
    assert [(t.turn, t.prompt) for t in index.turns] == [(1, "one"), (2, "two"), (3, "three")]
    assert len(index.compactions) == 1
    assert prompts_in(forked(path, 1)) == ["two"] and prompts_in(forked(path, 2)) == ["one"]
    # Gemini's own way back to before a kept prompt.
    kept = next(m["id"] for m in talk.messages if m["content"] == [{"text": "two"}])
    talk.rewind(third)
    talk.rewind(kept)
    talk.prompt("four")
    index = read_index(str(talk.write(home)))
    assert [(t.turn, t.prompt) for t in index.turns] == [
        (1, "one"), (None, "two"), (None, "three"), (2, "four")]


def test_turns_on_a_page(home: Path, talk: Talk) -> None:
    talk.resume()
    talk.compact()
    talk.prompt("three")
    index = open_turns(str(talk.write(home)), GEMINI, NoMemory())
    first, second, third = read_turns(index, 1, 3, for_page())
    assert [b["kind"] for b in first.blocks] == ["tool", "thinking", "text"]
    assert first.blocks[0]["result"] == "Done." and first.files == [f"{talk.project}/a.txt"]
    assert second.prompt == "two" and third.compacted_before and not second.compacted_before


@pytest.mark.parametrize("record, named", [
    ({"$append": {"messages": []}}, "$append"), ({"kind": "branch"}, "kind"),
    ({"$set": {"patches": [1]}}, "patches"), ({"$rewindTo": 3}, "$rewindTo")])
def test_a_record_that_nobody_knows_is_read_over_and_nothing_is_forked(
        home: Path, talk: Talk, record: dict[str, Any], named: str) -> None:
    talk.lines.insert(6, line(record))
    path = talk.write(home)
    assert [t.prompt for t in read_index(str(path)).active_turns] == ["one", "two"]
    with pytest.raises(RewindError) as error:
        forked(path, 1)
    assert f"does not know ({named}" in error.value.message
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("lines, reason", [
    ([{"$set": {"lastUpdated": "2026"}}], "first line is missing"),
    ([{"sessionId": "x", "projectHash": "y", "kind": "subagent"}], "subagent")])
def test_what_is_no_session_of_a_person_is_not_forked(
        home: Path, talk: Talk, lines: list[Any], reason: str) -> None:
    talk.lines[:1] = map(line, lines)
    with pytest.raises(RewindError, match=reason):
        forked(talk.write(home), 1)


def test_an_answer_that_has_only_begun_is_not_in_a_fork(home: Path, talk: Talk) -> None:
    talk.prompt("three")
    talk.say("gemini", "", thoughts=[])
    path = talk.write(home)
    fork = write_fork(str(path), GEMINI, Cut(path.stat().st_size), original=str(path))
    assert json.loads(Path(fork.path).read_bytes().splitlines()[-1])["content"] == [{"text": "three"}]


def test_after_the_only_tool_of_an_answer_its_result_is_kept(home: Path, talk: Talk) -> None:
    talk.prompt("three")
    at = len(talk.data)
    talk.tool("replace", "Changed.", file_path="a.txt")
    talk.answer("Third.")
    path = talk.write(home)
    began = at + sum(map(len, talk.lines[talk.lines.index(lines_of(talk.data[at:])[0]):][:2]))
    trigger = {"event": "PostToolUse", "tool": "replace"}
    with open_conversation(str(path), GEMINI) as file:
        cut = jsonl_oplog.resolve_cut(file, GEMINI, began, trigger)
        other = jsonl_oplog.resolve_cut(file, GEMINI, began, {**trigger, "tool": "write_file"})
        before = jsonl_oplog.resolve_cut(file, GEMINI, began, {"event": "PreToolUse"})
    kept = second_reader(talk.data[:cut.offset])
    assert cut.exact and "Changed." in json.dumps(kept[-1]) and kept[-1]["type"] == "user"
    assert not other.exact and before.exact and before.offset == began


def test_sessions_are_found_by_the_file_that_marks_their_folder(
        home: Path, project: Path, tmp_path: Path, talk: Talk) -> None:
    path = talk.write(home)
    (project / "sub").mkdir()
    below = Talk(project / "sub").write(home, "sub")
    Talk(tmp_path / "elsewhere").write(home, "elsewhere")
    found = {s.path for s in project_sessions(str(project))}
    assert found == {str(path), str(below)}
    # A stub that a resumption left names the same session, and is shorter.
    stub = chats(home, project) / f"session-2026-11-16T09-00-{talk.id[:8]}.jsonl"
    stub.write_bytes(b"".join(Talk(project, talk.id).lines))
    (chats(home, project) / "session-empty.jsonl").write_bytes(b"")
    assert {s.path for s in project_sessions(str(project))} == found
    for near in ("", str(stub), str(path)):
        again = session_anywhere(GEMINI, talk.id, near=near)
        assert again is not None and again.path == str(path)
