"""opencode's sessions, whatever bytes a copy holds: no crash, no write to it, no half message in a fork. And
whatever was said, undone and compacted: what is read is what a second, obvious reader finds."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_sessions import Line, Talk, bytes_of, lines_of_export, prompts_in, recorded, tool
from rewind.agents.registry import profile_named
from rewind.errors import NotEnoughPrompts, RewindError
from rewind.transcript.kinds import kind_of
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.turns.turn_blocks import for_page
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_pages import read_turns
from rewind.transcript.write.content import SessionNames, plan_content
from rewind.transcript.write.import_session import _write_export
from transcript.kinds.test_rollout_fuzz import NoMemory, damaged
from transcript.test_fuzz import examples

OPENCODE = "opencode"
SAMPLES = {name: bytes_of(lines_of_export(recorded(name))) for name in ("export", "export-compacted")}


def fork(path: Path, cut: Any) -> Path:
    """The file that a fork would be, without giving it to a client."""
    opencode, made = profile_named(OPENCODE), path.parent / "ses_e21b00000ffeZZZZZZZZZZZZZZ.jsonl"
    kind = kind_of(opencode)
    with open_conversation(str(path), opencode) as file:
        cut = cut.placed(file)
        kind.check_resumable(file, opencode, cut)
        content = plan_content(file, opencode, cut)
        fd = os.open(made, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        try:
            kind.write_session(fd, file, opencode, content, SessionNames(made.stem, path.stem, "[Fork] x"))
        finally:
            os.close(fd)
    return made


def check(path: Path) -> None:
    """What holds for any bytes: the readers agree, forks have whole messages, nothing is changed."""
    data, opencode = path.read_bytes(), profile_named(OPENCODE)
    index = read_index(str(path), opencode)
    count = len(index.active_turns)
    turns = open_turns(str(path), opencode, NoMemory())
    assert turns.total == count
    if count:
        read_turns(turns, 1, count, for_page())
    for n in sorted({1, 2, count}):
        if not 0 < n <= count:
            continue
        found = find_boundary_by_user_prompts(str(path), n, opencode)
        assert [p.offset for p in found.prompts] == [t.offset for t in index.active_turns[-n:]]
        try:
            made = fork(path, found.cut)
        except RewindError:
            continue
        lines = [json.loads(line) for line in made.read_bytes().splitlines()]
        assert {x["sessionID"] for line in lines[1:] for x in (line["info"], *line["parts"])} <= {made.stem}
        kept = [t.prompt for t in index.active_turns[:count - n]]
        assert [t.prompt for t in read_index(str(made), opencode).active_turns] == kept
        _write_export(str(made), str(made) + ".json")
        exported = json.loads(Path(str(made) + ".json").read_text())
        assert len(exported["messages"]) == len(lines) - 1
        made.unlink()
        Path(str(made) + ".json").unlink()
    with pytest.raises(NotEnoughPrompts):
        find_boundary_by_user_prompts(str(path), count + 1, opencode)
    assert path.read_bytes() == data


def _pieces() -> list[bytes]:
    lines = [line for data in SAMPLES.values() for line in data.splitlines(keepends=True)]
    return [*lines, *(line[:len(line) // 2] for line in lines[::3]), *(line[:-1] for line in lines[::4]),
            b"\n", b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"type":"session","format":1}\n',
            b'{"type":"session","format":1,"info":{"revert":{"messageID":null}}}\n',
            b'{"type":"message","info":{"role":"user","id":1},"parts":[{"type":"text","text":[]}]}\n',
            b'{"type":"message","info":{"role":"assistant","id":"m"},"parts":[{"type":"tool","state":3}]}\n',
            b'{"type":"message","info":[],"parts":{"type":"text"}}\n']


@given(st.one_of(st.binary(max_size=400),
                 st.lists(st.sampled_from(_pieces()), max_size=30).map(b"".join),
                 st.lists(st.sampled_from(_pieces()), max_size=30).map(
                     lambda pieces: SAMPLES["export"].splitlines(keepends=True)[0] + b"".join(pieces))))
@examples(80)
@pytest.mark.usefixtures("home")
def test_any_bytes_are_survived(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "ses_e21b96c2effeoIHqLdo0408GBo.jsonl"
    path.write_bytes(data)
    check(path)


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.usefixtures("home")
def test_a_damaged_sample_is_survived(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    for _ in range(30):
        path = tmp_path / "ses_e21b96c2effeoIHqLdo0408GBo.jsonl"
        path.write_bytes(damaged(SAMPLES[name], rng))
        check(path)


def random_talk(cwd: Path, rng: random.Random) -> list[Line]:
    talk, prompts = Talk(cwd), []
    for number in range(rng.randint(0, 8)):
        kind = rng.random()
        if kind < 0.6:
            prompts.append(talk.turn(f"prompt {number}", "out" if rng.random() < 0.5 else ""))
        elif kind < 0.75:
            talk.compact(rng.choice([None, *prompts[-1:]]))
        elif kind < 0.9:
            asked = talk.message("user", {"type": "text", "text": "ran it", "synthetic": True})
            talk.answer(asked, tool(f"call_{number}", "hi", rng.choice(["completed", "error", "running"])))
        else:
            prompts.append(talk.prompt(f"unanswered {number}"))
    if prompts and rng.random() < 0.3:
        talk.info["revert"] = {"messageID": rng.choice(prompts)}
    return talk.lines


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("home")
def test_random_sessions_are_read_as_a_second_reader_reads_them(tmp_path: Path, seed: int) -> None:
    lines = random_talk(tmp_path, random.Random(seed))
    path = tmp_path / "ses_e21b00000ffeAAAAAAAAAAAAAA.jsonl"
    path.write_bytes(bytes_of(lines))
    assert [t.prompt for t in read_index(str(path), profile_named(OPENCODE)).turns] == prompts_in(lines)
    check(path)
