"""Codex's rollouts: each recorded one as worked out by hand from its lines; chains, forks, bad input."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rewind.agents.registry import profile_for, profile_named
from rewind.errors import RewindError
from rewind.transcript.find import project_sessions, session_anywhere
from rewind.transcript.kinds import jsonl_rollout, kind_of, rollout_reading
from rewind.transcript.liveness import is_busy, is_open, why_open
from rewind.transcript.names import path_beside, session_id_of
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import read_at, size_of
from rewind.transcript.write.fork import write_fork
from rollouts import (
    SAMPLES,
    Talk,
    conversation,
    folder,
    lines_of,
    place_samples,
    prompts_in,
    sample,
)

CODEX = "codex"


class Said(NamedTuple):
    """A prompt: the sample and the line that it stands in, how it begins, the line before which it is cut."""

    sample: str
    line: int
    text: str
    cut: int


class Golden(NamedTuple):
    prompts: list[Said]
    compactions: list[int] = []  # lines of the sample itself
    before: int = 0  # so many lines of another sample come before its own, line 1 apart
    of: str = ""
    refused: str = ""  # why it cannot be forked


# Line numbers begin at 0, where the session_meta stands.
GOLDEN = {
    "01": Golden([Said("01", 8, "PATCH b.txt hello", 1), Said("01", 23, "second prompt", 20),
                  Said("01", 33, "third prompt SH no", 30)]),
    "02": Golden([Said("02", 12, "tui first", 1), Said("02", 22, "JS const r = await tools.exec_command", 19),
                  Said("02", 37, "JS const r = await tools.apply_patch", 34)]),
    # After Esc Esc: 18 records of 02, then what was said in this file; compacted between the last two.
    "03": Golden([Said("02", 12, "tui first", 1), Said("03", 6, "edited prompt after rewind", 3),
                  Said("03", 28, "after compact", 25)], compactions=[17], before=18, of="02"),
    "04": Golden([Said("04", 6, "native forked", 3)], refused="01a1de3f-7701-7f22-b24b-c6c86d4f986f"),
    # The fifth was typed while the turn of the fourth ran.
    "05": Golden([Said("05", 8, "CALL exec_command", 1), Said("05", 23, "CALL multi_agent_v1.spawn", 20),
                  Said("05", 40, "SLOW 20 interrupt me", 37), Said("05", 47, "SLOW 6 steer base", 44),
                  Said("05", 49, "steered message", 48)], compactions=[64]),
    "06": Golden([Said("06", 8, "SH echo sub > sub.txt", 1)], refused="subagent"),
    "07": Golden([Said("07", 6, "PATCH b.txt hello", 1), Said("07", 17, "second prompt", 14),
                  Said("07", 32, "after legacy", 24)]),
    "08": Golden([Said("08", 12, "tui first", 1), Said("08", 23, "after live truncation", 20)]),
    "09": Golden([Said("05", 8, "CALL exec_command", 1), Said("09", 10, "on app-server fork", 4)],
                 before=19, of="05"),
}
every_sample = pytest.mark.parametrize("number", sorted(GOLDEN))


@pytest.fixture
def files(home: Path) -> dict[str, Path]:
    return place_samples(home)


def body(number: str) -> list[bytes]:
    """All lines of the conversation but the first."""
    golden = GOLDEN[number]
    before = lines_of(sample(golden.of))[1:golden.before + 1] if golden.of else []
    return before + lines_of(sample(number))[1:]


def place(number: str, of: str, line: int) -> int:
    """How many bytes of the conversation, line 1 apart, come before a line of a sample."""
    golden = GOLDEN[number]
    own = line - 1 if of == golden.of else golden.before + line - 1
    return sum(map(len, body(number)[:own]))


def test_every_sample_has_a_golden() -> None:
    assert sorted(GOLDEN) == [name[:2] for name in SAMPLES]


@every_sample
def test_prompts_turns_and_compactions_are_read(files: dict[str, Path], number: str) -> None:
    golden, index = GOLDEN[number], read_index(str(files[number]))
    head = index.size - sum(map(len, body(number)))
    places = [place(number, said.sample, said.line) for said in golden.prompts]
    assert [turn.offset - head for turn in index.turns] == places
    for turn, said in zip(index.turns, golden.prompts):
        assert turn.prompt.startswith(said.text)
    assert [turn.turn for turn in index.active_turns] == list(range(1, len(golden.prompts) + 1))
    assert [at - head for at in index.compactions] == [place(number, number, at) for at in golden.compactions]
    assert index.profile.name == CODEX
    assert index.session_id == json.loads(lines_of(sample(number))[0])["payload"]["id"]


@every_sample
def test_a_cut_takes_the_prompt_and_what_codex_put_before_it(files: dict[str, Path], number: str) -> None:
    golden = GOLDEN[number]
    head = read_index(str(files[number])).size - sum(map(len, body(number)))
    for n, said in enumerate(reversed(golden.prompts), 1):
        found = find_boundary_by_user_prompts(str(files[number]), n)
        assert found.boundary - head == place(number, said.sample, said.cut), said
        assert len(found.prompts) == n


@every_sample
def test_a_fork_is_the_beginning_with_a_new_id(files: dict[str, Path], number: str) -> None:
    golden, path = GOLDEN[number], files[number]
    profile = profile_for(str(path))
    for n, said in enumerate(reversed(golden.prompts), 1):
        cut = find_boundary_by_user_prompts(str(path), n).cut
        if golden.refused:
            with pytest.raises(RewindError, match=golden.refused):
                write_fork(str(path), profile, cut, original=str(path))
            continue
        fork = write_fork(str(path), profile, cut, original=str(path))
        first, *rest = lines_of(Path(fork.path).read_bytes())
        assert b"".join(rest) == b"".join(body(number))[:place(number, said.sample, said.cut)]
        told, was = json.loads(first), json.loads(lines_of(sample(number))[0])
        assert told["payload"]["id"] == told["payload"]["session_id"] == fork.session_id
        assert told["payload"]["forked_from_id"] == was["payload"]["id"]
        assert "history_base" not in told["payload"] and told.get("ordinal", 0) == 0
        assert session_id_of(fork.path, profile) == fork.session_id
        assert path_beside(str(path), fork.session_id, profile) == fork.path
        assert [t.prompt for t in read_index(fork.path).turns] == [
            t.prompt for t in read_index(str(path)).turns][:-n]
    assert path.read_bytes() == sample(number)


def test_a_file_of_a_rewound_thread_belongs_to_the_same_session(files: dict[str, Path]) -> None:
    codex = profile_named(CODEX)
    assert session_id_of(str(files["02"]), codex) == session_id_of(str(files["03"]), codex)
    found = session_anywhere(codex, session_id_of(str(files["02"]), codex))
    assert found and found.path == str(files["03"])  # where the thread goes on


def test_subagents_are_no_sessions_and_a_thread_is_listed_once(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    talk = Talk(project)
    talk.turn("one")
    talk.write(home)
    again = Talk(project, talk.id, "01a1de41-0000-7000-8000-00000000000a", talk.starts[0],
                 talk.reference(talk.starts[0]))
    again.turn("other")
    again.write(home)
    Talk(project, thread_source="subagent", parent_thread_id=talk.id).write(home)
    Talk(tmp_path / "elsewhere").write(home)
    found = [s for s in project_sessions(str(project)) if s.profile.name == CODEX]
    assert [s.session_id for s in found] == [talk.id]
    assert [t.prompt for t in read_index(found[0].path).turns] == ["other"]


# chains

def chain(home: Path, cwd: Path) -> tuple[Talk, Talk, Talk]:
    """A thread, one forked from it before its third turn, and one from that before its second."""
    first = Talk(cwd)
    for text in ("one", "two", "three"):
        first.turn(text, command=f"touch {text}")
    first.write(home)
    second = Talk(cwd, first=first.starts[2], base=first.reference(first.starts[2]))
    second.turn("four")
    second.turn("five")
    second.write(home)
    third = Talk(cwd, first=second.starts[1], base=second.reference(second.starts[1]))
    third.turn("six")
    return first, second, third


def read_whole(path: Path) -> list[dict[str, Any]]:
    with open_conversation(str(path), profile_named(CODEX)) as file:
        return [json.loads(line) for line in read_at(file, 0, size_of(file)).splitlines()]


def test_a_chain_of_files_is_read_as_one(home: Path, tmp_path: Path) -> None:
    path = chain(home, tmp_path)[2].write(home)
    assert read_whole(path)[1:] == conversation(path)
    assert [t.prompt for t in read_index(str(path)).turns] == ["one", "two", "four", "six"]


def test_going_back_to_before_the_file_began(home: Path, tmp_path: Path) -> None:
    first, second, _ = chain(home, tmp_path)
    # A rewind of the second to before a turn that it has from the first.
    again = Talk(tmp_path, second.id, "01a1de41-0000-7000-8000-00000000000b", first.starts[1],
                 {"thread_id": second.id, "end_ordinal_exclusive": first.starts[1], "end_byte_offset": 0})
    again.turn("seven")
    path = again.write(home)
    assert read_whole(path)[1:] == conversation(path)
    assert [t.prompt for t in read_index(str(path)).turns] == ["one", "seven"]


@pytest.mark.parametrize("harm", ["gone", "shorter", "no ordinals", "a ring", "nonsense"])
def test_what_a_chain_lacks_is_not_made_up(home: Path, tmp_path: Path, harm: str) -> None:
    first, second, third = chain(home, tmp_path)
    old, path = first.write(home), third.write(home)
    if harm == "gone":
        old.unlink()
    elif harm == "shorter":
        old.write_bytes(b"".join(first.lines[:-12][:first.starts[1]]))
    elif harm == "no ordinals":
        old.write_bytes(first.data.replace(b'"ordinal":', b'"number":'))
    elif harm == "a ring":
        base = json.dumps(second.reference(second.starts[1])).encode()
        old.write_bytes(first.data.replace(b'"history_mode"', b'"history_base":%s,"history_mode"' % base, 1))
    else:
        was, now = b'"end_ordinal_exclusive":', b'"end_ordinal_exclusive":"x","was":'
        path.write_bytes(path.read_bytes().replace(was, now, 1))
    assert [t.prompt for t in read_index(str(path)).turns][-1] == "six"  # what is certain
    before = sorted(folder(home).iterdir())
    cut = find_boundary_by_user_prompts(str(path), 1).cut
    with pytest.raises(RewindError, match="cannot be forked: its beginning is in another file"):
        write_fork(str(path), profile_named(CODEX), cut, original=str(path))
    assert sorted(folder(home).iterdir()) == before


def test_a_fork_of_a_chain_stands_alone(home: Path, tmp_path: Path) -> None:
    first, second, third = chain(home, tmp_path)
    path = third.write(home)
    codex = profile_named(CODEX)
    fork = write_fork(str(path), codex, find_boundary_by_user_prompts(str(path), 1).cut, original=str(path))
    first.write(home).unlink()
    second.write(home).unlink()
    assert [t.prompt for t in read_index(fork.path).turns] == ["one", "two", "four"]
    again = write_fork(fork.path, codex, find_boundary_by_user_prompts(fork.path, 2).cut, original=fork.path)
    assert prompts_in([json.loads(line) for line in lines_of(Path(again.path).read_bytes())]) == ["one"]


# formats that nobody knows yet

@pytest.mark.parametrize("mode", ["paginated-v2", 3, {}])
def test_an_unknown_history_mode_is_read_and_not_forked(home: Path, tmp_path: Path, mode: Any) -> None:
    talk = Talk(tmp_path, history_mode=mode)
    talk.turn("one")
    talk.turn("two")
    check_refused(talk.write(home), "keeps its history in another way")


@pytest.mark.parametrize("at", ["before", "after"])
def test_an_unknown_record_is_read_over_and_not_forked(home: Path, tmp_path: Path, at: str) -> None:
    talk = Talk(tmp_path)
    talk.turn("one")
    if at == "before":
        talk.add("history_splice", {"from": "elsewhere"})
    talk.turn("two")
    if at == "after":
        talk.lines.append(b'{"type": "history_splice", "payload": {}}\n')
    check_refused(talk.write(home), r"records that this version of Rewind does not know \(history_splice\)")


def test_a_rollback_of_an_older_codex_is_not_guessed_at(home: Path, tmp_path: Path) -> None:
    talk = Talk(tmp_path, history_mode="legacy")
    talk.turn("one")
    talk.turn("two")
    talk.event("thread_rolled_back", num_turns=1)
    check_refused(talk.write(home), "thread_rolled_back")


@pytest.mark.parametrize("line, is_forked", [(2, False), (40, True), (-9, False), (-2, False)])
def test_of_a_long_rollout_what_is_near_the_cut_and_the_beginning_must_be_known(
        home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int, is_forked: bool) -> None:
    """What is between is copied as it is: no record there tells where the turn begins that is taken back."""
    talk = Talk(tmp_path)
    for number in range(12):
        talk.turn(f"{number} " + "words " * 50)
    talk.lines.insert(line, b'{"type":"history_splice","payload":{}}\n')
    path = talk.write(home)
    monkeypatch.setattr(jsonl_rollout, "_LOOKED_AT", 1500)
    cut = find_boundary_by_user_prompts(str(path), 1).cut
    assert cut.offset > 3 * 1500
    if is_forked:
        made = write_fork(str(path), profile_for(str(path)), cut, original=str(path))
        assert Path(made.path).read_bytes().split(b"\n", 1)[1] == talk.data[:cut.offset].split(b"\n", 1)[1]
    else:
        with pytest.raises(RewindError, match="history_splice"):
            write_fork(str(path), profile_for(str(path)), cut, original=str(path))


def check_refused(path: Path, why: str) -> None:
    data = path.read_bytes()
    assert [t.prompt for t in read_index(str(path)).turns] == ["one", "two"]
    with pytest.raises(RewindError, match=why):
        write_fork(str(path), profile_for(str(path)), find_boundary_by_user_prompts(str(path), 1).cut,
                   original=str(path))
    assert list(path.parent.iterdir()) == [path] and path.read_bytes() == data


# places

def test_checkpoints_cut_where_their_events_happened(home: Path, tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.turn("one")
    at_prompt = sum(map(len, talk.lines[:talk.ordinal])) + 1
    second = talk.turn("two", command="make")
    talk.compact()
    talk.turn("three")
    path, codex = talk.write(home), profile_named(CODEX)
    place = {ordinal: len(b"".join(talk.lines[:ordinal])) for ordinal in range(talk.ordinal + 1)}
    call = next(i for i, line in enumerate(talk.lines) if b'"function_call"' in line)
    with open_conversation(str(path), codex) as file:
        def cut(offset: int, **trigger: str) -> tuple[int, bool]:
            found = kind_of(codex).resolve_cut(file, codex, offset, trigger)
            return found.offset, found.exact

        asked = {"event": "UserPromptSubmit", "promptId": second, "promptText": "two"}
        assert cut(place[talk.starts[1] + 4], **asked) == (place[talk.starts[1]], True)
        assert cut(at_prompt, **{**asked, "promptText": "never recorded"}) == (place[talk.starts[1]], True)
        # Before the compaction that followed.
        ended = {"event": "Stop", "promptId": second}
        assert cut(place[talk.starts[2] - 1], **ended) == (place[talk.starts[2]], True)
        tool = f"call_{json.loads(talk.lines[call])['ordinal']}"
        assert cut(place[call + 1], event="PreToolUse", toolUseId=tool) == (place[call], True)
        assert cut(place[call + 1], event="PostToolUse", toolUseId=tool) == (place[call + 2], True)
        assert cut(place[call + 1], event="PostToolUse", toolUseId="exec-1")[1] is False
        assert cut(place[3] - 5, event="SessionEnd") == (place[2], True)


def test_a_prompt_typed_while_a_turn_ran_is_cut_alone(home: Path, tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    turn = talk.start()
    talk.prompt("one", turn)
    talk.message("assistant", "Working")
    steered = talk.ordinal
    talk.prompt("wait", turn)
    path, codex = talk.write(home), profile_named(CODEX)
    assert find_boundary_by_user_prompts(str(path), 1).boundary == len(b"".join(talk.lines[:steered]))
    with open_conversation(str(path), codex) as file:
        cut = kind_of(codex).resolve_cut(file, codex, size_of(file), {
            "event": "UserPromptSubmit", "promptId": turn, "promptText": "wait"})
    assert cut.offset == len(b"".join(talk.lines[:steered]))


def test_a_cut_may_leave_nothing_but_the_first_line(home: Path, tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.turn("one")
    path = talk.write(home)
    fork = write_fork(str(path), profile_named(CODEX), find_boundary_by_user_prompts(str(path), 1).cut,
                      original=str(path))
    assert len(lines_of(Path(fork.path).read_bytes())) == 1


def test_a_cut_before_the_first_line_is_refused(home: Path, tmp_path: Path) -> None:
    path = Talk(tmp_path).write(home)
    with pytest.raises(RewindError, match="first line"):
        write_fork(str(path), profile_named(CODEX), Cut(3), original=str(path))


# is it open?

@pytest.fixture
def lock(home: Path) -> Path:
    locks = home / ".codex" / "thread-writer-locks"
    locks.mkdir(parents=True)
    return locks / "01a1de3f-0d9a-7501-807d-14fcead62c76.lock"


def test_a_thread_is_open_while_its_lock_is_held(lock: Path) -> None:
    codex = profile_named(CODEX)
    assert is_open(codex, lock.stem) is False
    fd = os.open(lock, os.O_RDWR | os.O_CREAT)
    assert is_open(codex, lock.stem) is False  # left by a client that was killed
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        assert is_open(codex, lock.stem) is True
        assert why_open(codex, lock.stem, "/nowhere") == "Codex is running it"
    finally:
        os.close(fd)
    assert is_open(codex, lock.stem) is False


def test_an_interrupted_turn_is_over_though_no_hook_was_told(home: Path, tmp_path: Path, lock: Path) -> None:
    codex, talk = profile_named(CODEX), Talk(tmp_path, lock.stem)
    turn = talk.start()
    talk.prompt("one", turn)
    recorded = {"running": True, "transcript_path": str(talk.write(home))}
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert is_busy(codex, lock.stem, recorded) is True
        talk.event("turn_aborted", turn_id=turn)
        talk.write(home)
        assert is_busy(codex, lock.stem, recorded) is False
    assert is_busy(codex, lock.stem, recorded) is False


@pytest.mark.parametrize("summary", [5, True, "a text", {"text": "a text"}, None])
def test_a_summary_that_is_no_list_says_nothing(summary: object) -> None:
    data = {"type": "response_item", "payload": {"type": "reasoning", "summary": summary}}
    said = rollout_reading.content_of(data, profile_named(CODEX))
    assert said == [{"type": "thinking", "thinking": ""}]
