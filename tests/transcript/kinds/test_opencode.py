"""opencode's sessions: each recorded one as worked out by hand; forks, undone rows, bad input."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencode_sessions import (
    Line,
    Talk,
    bytes_of,
    export_of_rows,
    fake_client,
    lines_of_export,
    place,
    recorded,
    tool,
)
from rewind.agents.registry import profile_for, profile_named
from rewind.errors import NotInPlace, RewindError
from rewind.transcript.find import project_sessions, session_anywhere
from rewind.transcript.kinds import kind_of
from rewind.transcript.liveness import check_in_place
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import open_transcript, size_of
from rewind.transcript.read.prompts import content_of, prompt_text
from rewind.transcript.read.titles import read_title
from rewind.transcript.write.fork import write_fork
from rewind.transcript.write.import_session import delete_imported

OPENCODE = "opencode"
QUOTED = '"WRITE:/home/dev/work/proj-o/c.txt:cee\nSHELL:echo hi > d.txt"'  # its own quotes, nobody typed them
EXPORTS = {"export": recorded("export"), "export-compacted": recorded("export-compacted"),
           "db-rows": export_of_rows(recorded("db-rows")),
           "fork-response": {"info": recorded("fork-response"), "messages": []}}
# Of each sample: the line (0 is the session) and the text of its prompts, compactions, and its title.
GOLDEN: dict[str, tuple[list[tuple[int, str]], list[int], str]] = {
    "export": ([(1, "WRITE:/home/dev/work/proj-o/b.txt:bee"), (4, QUOTED), (7, '"third plain"')], [],
               "Mock title 64"),
    "export-compacted": ([(1, "WRITE:/home/dev/work/proj-o/b.txt:bee"), (4, QUOTED), (7, '"third plain"'),
                          (9, "after native revert")], [11], "Mock title 64 (fork #1)"),
    "db-rows": ([(1, "WRITE:/home/dev/work/proj-o/smp.txt:s")], [], "Mock title 124"),
    "fork-response": ([], [], "Mock title 64 (fork #1)"),
}
every_sample = pytest.mark.parametrize("name", sorted(GOLDEN))


@pytest.fixture(autouse=True)
def imported(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = fake_client(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return found


def offsets(lines: list[Line]) -> list[int]:
    found = [0]
    for line in lines:
        found.append(found[-1] + len(bytes_of([line])))
    return found


def fork_of(path: Path, cut: Cut, folder: Path) -> Path:
    return Path(write_fork(str(path), profile_named(OPENCODE), cut, original=str(path),
                           folder=str(folder)).path)


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def stripped(lines: list[Line]) -> list[Any]:
    """Messages without what tells one session from another."""
    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if not k.lower().endswith("id") or k == "callID"}
        return [without(v) for v in value] if isinstance(value, list) else value
    return [without(line) for line in lines[1:]]


@every_sample
def test_a_recorded_session_is_read_as_it_was_worked_out_by_hand(home: Path, name: str) -> None:
    said, compactions, title = GOLDEN[name]
    lines = lines_of_export(EXPORTS[name])
    path, at = place(home, lines), offsets(lines)
    assert profile_for(str(path)).name == OPENCODE
    index = read_index(str(path))
    assert [(t.offset, t.prompt) for t in index.active_turns] == [(at[line], text) for line, text in said]
    assert index.turns == index.active_turns
    assert index.compactions == [at[line] for line in compactions]
    with open_transcript(str(path)) as file:
        assert read_title(file, profile_named(OPENCODE)) == title


@every_sample
def test_every_prompt_of_a_recorded_session_can_be_taken_back(
        home: Path, project: Path, imported: Path, name: str) -> None:
    said, _, title = GOLDEN[name]
    lines = lines_of_export(EXPORTS[name])
    path = place(home, lines)
    before = path.read_bytes()
    for n in range(1, len(said) + 1):
        found = find_boundary_by_user_prompts(str(path), n, profile_named(OPENCODE))
        cut = said[-n][0]
        assert found.boundary == offsets(lines)[cut]
        made = fork_of(path, found.cut, project)
        assert stripped(read(made)) == stripped(lines[:cut])
        given = json.loads((imported / f"{made.stem}.json").read_text())
        assert given["info"]["title"] == f"[Fork] {title}" and given["cwd"] == str(project)
        assert given["messages"] == [{k: line[k] for k in ("info", "parts")} for line in read(made)[1:]]
    assert path.read_bytes() == before


def test_the_recorded_payload_of_a_prompt_is_joined_to_its_row() -> None:
    told = recorded("plugin-payloads")["chat.message"]["payload"]["output"]
    line = {"type": "message", "info": told["message"], "parts": told["parts"]}
    row = lines_of_export(EXPORTS["db-rows"])[1]
    opencode = profile_named(OPENCODE)
    assert line["info"]["id"] == row["info"]["id"]
    text = "WRITE:/home/dev/work/proj-o/smp.txt:s"
    assert prompt_text(line, opencode) == prompt_text(row, opencode) == text


# forks

def test_a_fork_has_ids_of_its_own_that_rise_and_refer_to_one_another(home: Path, project: Path) -> None:
    talk = Talk(project)
    talk.turn("one", "out")
    kept = talk.turn("two")
    talk.compact(kept)
    talk.turn("three")
    path = talk.write(home)
    with open_transcript(str(path)) as file:
        made = read(fork_of(path, Cut(size_of(file)), project))
    old, new = talk.lines, made
    session = made[0]["info"]["id"]
    ids = [line["info"]["id"] for line in made[1:]]
    parts = [part["id"] for line in made[1:] for part in line["parts"]]
    assert ids == sorted(ids) and parts == sorted(parts) and len({*ids, *parts}) == len(ids) + len(parts)
    assert not {*ids, *parts} & {x["id"] for line in old[1:] for x in (line["info"], *line["parts"])}
    place_of = {line["info"]["id"]: number for number, line in enumerate(old)}
    for was, now in zip(old[1:], new[1:]):
        assert now["info"]["sessionID"] == session and {p["sessionID"] for p in now["parts"]} == {session}
        assert {p["messageID"] for p in now["parts"]} == {now["info"]["id"]}
        if "parentID" in was["info"]:
            assert now["info"]["parentID"] == new[place_of[was["info"]["parentID"]]]["info"]["id"]
    compaction = next(line for line in new if line["type"] == "compaction")
    assert compaction["parts"][0]["tail_start_id"] == new[place_of[kept]]["info"]["id"]
    assert stripped(old) == stripped(new)


def test_a_fork_drops_what_would_hide_it_or_undo_it(home: Path, project: Path) -> None:
    talk = Talk(project, share={"url": "x"}, summary={"files": 1}, permission=[{"action": "deny"}])
    talk.turn("one")
    path = talk.write(home)
    info = read(fork_of(path, Cut(path.stat().st_size), project))[0]["info"]
    assert set(info) == {"id", "slug", "projectID", "directory", "title", "version", "permission", "time"}


def test_written_again_after_a_kill_a_fork_has_the_same_ids(home: Path, project: Path) -> None:
    talk = Talk(project)
    talk.turn("one", "out")
    path, opencode = talk.write(home), profile_named(OPENCODE)
    session = kind_of(opencode).new_session_id()
    made = []
    for _ in range(2):
        fork = write_fork(str(path), opencode, Cut(path.stat().st_size), original=str(path),
                          session_id=session, folder=str(project))
        made.append(read(Path(fork.path))[1:])
        Path(fork.path).unlink()
    assert made[0] == made[1]


def test_a_text_that_is_an_id_stays_as_it_was_typed(home: Path, project: Path) -> None:
    talk = Talk(project)
    asked = talk.turn("one")
    talk.turn(asked)
    talk.turn(talk.id, output=asked)
    path = talk.write(home)
    made = read(fork_of(path, Cut(path.stat().st_size), project))
    assert stripped(made) == stripped(talk.lines)
    assert [t.prompt for t in read_index(str(path)).turns] == ["one", asked, talk.id]


def test_later_sessions_come_first_as_opencode_sorts_them() -> None:
    kind = kind_of(profile_named(OPENCODE))
    first, second = kind.new_session_id(), kind.new_session_id()
    assert len(first) == 30 and first.startswith("ses_") and first[:16] >= second[:16] and first != second


def test_a_failing_client_leaves_no_fork(home: Path, project: Path, tmp_path: Path) -> None:
    talk = Talk(project)
    talk.turn("one")
    path = talk.write(home)
    (tmp_path / "bin" / "opencode").write_text("#!/bin/sh\necho 'no space left' >&2\nexit 1\n")
    with pytest.raises(RewindError, match=r"opencode could not import the session .*: no space left"):
        fork_of(path, Cut(path.stat().st_size), project)
    assert list(path.parent.iterdir()) == [path]


def test_a_session_that_opencode_does_not_have_is_deleted(project: Path) -> None:
    delete_imported("ses_nosuch", profile_named(OPENCODE), str(project))


def test_in_place_is_refused_with_the_reason() -> None:
    with pytest.raises(NotInPlace, match="opencode keeps conversations in a database of its own"):
        check_in_place(profile_named(OPENCODE))


# which rows count

def test_what_the_client_adds_is_no_prompt(home: Path, project: Path) -> None:
    talk = Talk(project)
    talk.prompt("look at @a.txt", {"type": "text", "text": "Called the Read tool", "synthetic": True},
                {"type": "file", "mime": "text/plain", "url": "file:///a.txt"})
    shell = talk.message("user", {"type": "text", "text": "The user ran a tool", "synthetic": True})
    talk.answer(shell, tool("call_1", "hi"))
    talk.message("user", {"type": "text", "text": "never mind", "ignored": True})
    talk.compact()
    talk.message("user", {"type": "subtask", "prompt": "Review it", "agent": "general"})
    assert [t.prompt for t in read_index(str(talk.write(home))).turns] == ["look at @a.txt", "Review it"]


def test_a_call_and_its_result_are_shown_together(project: Path) -> None:
    talk = Talk(project)
    talk.answer("msg_x", {"type": "reasoning", "text": "Hm"}, tool("call_1", "hi"),
                tool("call_2", "no", "error"), tool("call_3", "", "running"))
    blocks = content_of(talk.lines[1], profile_named(OPENCODE))
    assert [b["type"] for b in blocks] == ["thinking", "tool_use", "tool_result", "tool_use", "tool_result",
                                           "tool_use"]
    assert [(b["content"], b["is_error"]) for b in blocks if b["type"] == "tool_result"] == [
        ("hi", False), ("no", True)]


@pytest.mark.parametrize("undone", ["message", "part", "nowhere"])
def test_undone_rows_do_not_count(home: Path, project: Path, undone: str) -> None:
    talk = Talk(project)
    talk.turn("one", "out")
    second = talk.turn("two", "out")
    talk.turn("three")
    answer = talk.messages[4]
    part = {"messageID": answer["info"]["id"], "partID": answer["parts"][1]["id"]}
    talk.info["revert"] = {"message": {"messageID": second}, "nowhere": {"messageID": "msg_nosuch"},
                           "part": part}[undone]
    path = talk.write(home)
    turns = [t.prompt for t in read_index(str(path)).turns]
    with open_conversation(str(path), profile_named(OPENCODE)) as file:
        cut = Cut(size_of(file))
    if undone == "nowhere":
        assert turns == ["one", "two", "three"]
        with pytest.raises(RewindError, match="its /undo names a message that is not there"):
            fork_of(path, cut, project)
        return
    made = read(fork_of(path, cut, project))
    assert turns == [t.prompt for t in read_index(str(path)).turns] == ["one", "two"][:len(turns)]
    assert len(made) == {"message": 4, "part": 6}[undone] and "revert" not in made[0]["info"]
    if undone == "part":
        assert [p["type"] for p in made[-1]["parts"]] == ["step-start"]


@pytest.mark.parametrize("runs", [True, False])
def test_whether_a_turn_runs_is_told_by_the_last_answer(home: Path, project: Path, runs: bool) -> None:
    talk = Talk(project)
    talk.turn("one")
    if runs:
        talk.answer("msg_x", tool("call_1", "", "running"), time={"created": talk.at})
    with open_transcript(str(talk.write(home))) as file:
        assert kind_of(profile_named(OPENCODE)).turn_runs(file) is runs


def test_sessions_are_found_by_where_they_began(home: Path, project: Path, tmp_path: Path) -> None:
    here, below, elsewhere = Talk(project), Talk(project / "sub", "ses_b"), Talk(tmp_path / "other", "ses_c")
    for talk in (here, below, elsewhere):
        talk.turn("one")
        talk.write(home)
    assert {s.session_id for s in project_sessions(str(project))} == {here.id, "ses_b"}
    found = session_anywhere(profile_named(OPENCODE), "ses_c")
    assert found and found.session_id == "ses_c"


# bad input

def _with(change: Any) -> list[Line]:
    lines = copy.deepcopy(lines_of_export(EXPORTS["export"]))
    change(lines)
    return lines


@pytest.mark.parametrize("change, reason", [
    (lambda lines: lines[0].update(format=2), "of a format that this version of Rewind does not know"),
    (lambda lines: lines[0]["info"].update(version="2.0.1"), "written by opencode 2.0.1"),
    (lambda lines: lines[0]["info"].pop("projectID"), "its first line has no projectID"),
    (lambda lines: lines[0]["info"].update(parentID="ses_x"), "it is a subagent's"),
    (lambda lines: lines[2]["parts"].append({"type": "hologram"}), r"a part \(hologram\)"),
    (lambda lines: lines[2]["parts"].append("text"), r"a part \(None\)"),
    (lambda lines: lines[2]["parts"][1]["state"].update(status="dreamt"), r"a state of a tool \(dreamt\)"),
    (lambda lines: lines[2]["info"].update(role="narrator"), "a message of narrator"),
    (lambda lines: lines[2].update(parts=None), "a message that"),
    (lambda lines: lines.pop(1), "a message is missing"),
    (lambda lines: lines.insert(2, lines[1]), "or there twice"),
    (lambda lines: lines.insert(2, {"type": "branch", "info": {"id": "x"}, "parts": []}), "a line that"),
])
def test_a_newer_format_is_read_as_far_as_it_is_certain_and_not_forked(
        home: Path, project: Path, imported: Path, change: Any, reason: str) -> None:
    path = place(home, _with(change))
    turns = read_index(str(path), profile_named(OPENCODE)).turns
    assert [t.prompt for t in turns][-1] == '"third plain"'
    found = find_boundary_by_user_prompts(str(path), 1, profile_named(OPENCODE))
    with pytest.raises(RewindError, match=reason):
        fork_of(path, found.cut, project)
    assert list(path.parent.iterdir()) == [path] and not imported.exists()


def test_what_comes_after_the_cut_may_be_of_any_kind(home: Path, project: Path) -> None:
    path = place(home, _with(lambda lines: lines[-1]["parts"].append({"type": "hologram"})))
    found = find_boundary_by_user_prompts(str(path), 1, profile_named(OPENCODE))
    assert len(read(fork_of(path, found.cut, project))) == 7


def test_without_the_client_it_is_said_before_anything_is_done(
        home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(project)
    talk.turn("one")
    path = talk.write(home)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RewindError, match="opencode is not on your PATH"):
        fork_of(path, Cut(path.stat().st_size), project)
