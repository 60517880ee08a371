"""Gemini CLI's sessions, whatever bytes they hold: no crash, no write to one. And whatever operations there
are: what is read, and what a fork holds, is what a second, obvious reader finds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplogs import Talk, chats, line, lines_of, prompts_in, sample, second_reader
from rewind.agents.registry import profile_named
from rewind.errors import NotEnoughPrompts, RewindError
from rewind.transcript.kinds.oplog_fold import fold, messages_in_list, operations
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import open_transcript, read_at, size_of
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.write.fork import write_fork
from transcript.kinds.test_rollout_fuzz import NoMemory
from transcript.test_fuzz import examples

SAMPLES = ("01", "02", "03", "04", "05")


def check(path: Path) -> None:
    """What holds for any bytes: the readers agree, forks have what was said before, nothing is changed."""
    data, gemini = path.read_bytes(), profile_named("gemini")
    others = sorted(path.parent.iterdir())
    index = read_index(str(path), gemini)
    count = len(index.active_turns)
    assert open_turns(str(path), gemini, NoMemory()).total == count
    with open_conversation(str(path), gemini) as file:
        assert len(read_at(file, 0, size_of(file))) == len(data)
    for n in sorted({1, 2, count}):
        if not 0 < n <= count:
            continue
        found = find_boundary_by_user_prompts(str(path), n, gemini)
        assert [p.offset for p in found.prompts] == [t.offset for t in index.active_turns[-n:]]
        try:
            fork = write_fork(str(path), gemini, found.cut, original=str(path))
        except RewindError:
            continue
        made = Path(fork.path)
        said = [json.loads(raw.decode("utf-8", "replace")) for raw in made.read_bytes().splitlines()][1:]
        with open_transcript(str(path)) as file:
            kept = list(fold(file, found.boundary).messages.values())
        assert [m["id"] for m in said] == [m["id"] for m in kept[:len(said)]]
        assert not any(p.uuid == m["id"] for m in said for p in found.prompts[:1])
        made.unlink()
    with pytest.raises(NotEnoughPrompts):
        find_boundary_by_user_prompts(str(path), count + 1, gemini)
    assert path.read_bytes() == data and sorted(path.parent.iterdir()) == others


def _pieces() -> list[bytes]:
    lines = [raw for number in SAMPLES for raw in lines_of(sample(number))]
    return [*lines, *(raw[:len(raw) // 2] for raw in lines[::5]), *(raw[:-1] for raw in lines[::7]),
            b"\n", b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"$set":{"messages":[{"id":"a"},3,null]}}\n',
            b'{"$set":{"messages":{}}}\n', b'{"id":"a","type":"user","content":7}\n', b'{"$rewindTo":"a"}\n',
            b'{"$set":{"messages":[{"id":"b","type":"user","content":[{"text":"hi"}]} , {"id":"a"}]}}\n',
            '{"$set":{"messages":[{"id":"\u00fc","type":"user","content":[{"text":"\u2028\u00e9"}]}]}}\n'.encode(),
            b'{"id":"c","type":"gemini","content":{"text":"x"},"toolCalls":[1,{}],"thoughts":{}}\n']


PIECES = _pieces()


@examples(60)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=40)), max_size=30))
def test_any_pieces_in_any_order(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    top = tmp_path_factory.mktemp("pieces")
    path = chats(top, top) / "session-1.jsonl"
    path.write_bytes(b"".join(pieces))
    check(path)


@pytest.mark.parametrize("number", SAMPLES)
def test_damaged_samples(home: Path, tmp_path: Path, number: str) -> None:
    data, chance = sample(number), random.Random(number)
    path = chats(home, tmp_path) / "session-1.jsonl"
    for _ in range(25):
        damaged = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(damaged))
            how = chance.randrange(4)
            if how == 0:
                damaged[at] = chance.randrange(256)
            elif how == 1:
                del damaged[at:at + chance.randrange(200)]
            elif how == 2:
                damaged[at:at] = bytes(damaged[at:at + chance.randrange(300)])
            else:
                damaged[at:at] = b"\n"
        path.write_bytes(bytes(damaged))
        check(path)


# random logs of operations

class Log:
    """Operations in any order, with a few ids that come again and again."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lines = [line({"sessionId": "s", "projectHash": "h", "startTime": "t", "kind": "main"})]
        self.ids = [f"id-{number}" for number in range(12)]

    def message(self) -> dict[str, Any]:
        type = self.chance.choice(["user", "user", "gemini", "info"])
        text = self.chance.choice(["one", "two \u00fc", "three", "/slash", "<session_context> x", ""])
        content: Any = [{"text": text}] if type == "user" or self.chance.random() < 0.5 else text
        return {"id": self.chance.choice(self.ids), "timestamp": "t", "type": type, "content": content}

    def step(self) -> None:
        kind = self.chance.randrange(10)
        if kind < 6:
            self.lines.append(line(self.message()))
        elif kind < 7:
            self.lines.append(line({"$rewindTo": self.chance.choice([*self.ids, "nobody"])}))
        elif kind < 8:
            messages = [self.message() for _ in range(self.chance.randrange(5))]
            data = {"$set": {"messages": messages, "lastUpdated": "t"}}
            spaced = self.chance.random() < 0.3
            self.lines.append(json.dumps(data).encode() + b"\n" if spaced else line(data))
        elif kind < 9:
            self.lines.append(line({"$set": {"lastUpdated": "t"}}))
        else:
            self.lines.append(self.chance.choice([b"{torn\n", b"\n", b'{"id":"a"}{"id":"b"}\n', b"7\n"]))


@pytest.mark.parametrize("seed", range(60))
def test_a_log_amounts_to_what_a_second_reader_finds(home: Path, tmp_path: Path, seed: int) -> None:
    log = Log(random.Random(seed))
    for _ in range(25):
        log.step()
    data = b"".join(log.lines)
    path = chats(home, tmp_path) / "session-1.jsonl"
    path.write_bytes(data)
    with open_transcript(str(path)) as file:
        at = 0
        for raw in log.lines:
            at += len(raw)
            assert list(fold(file, at).messages.values()) == second_reader(data[:at])
        for operation in operations(file):
            for offset, end, message in messages_in_list(operation):
                assert json.loads(data[offset:end]) == message
    index = read_index(str(path))
    final = {m["id"] for m in second_reader(data)}
    assert {t.uuid for t in index.active_turns} <= final
    assert len({t.uuid for t in index.turns}) == len(index.turns), "each prompt once"
    check(path)


@pytest.mark.parametrize("seed", range(40))
def test_a_session_as_gemini_writes_it_comes_back_at_every_prompt(
        home: Path, tmp_path: Path, seed: int) -> None:
    """Turns, resumptions, steps back and compactions. What the model knew at each prompt is noted as it is
    given; a fork before that prompt must say the same."""
    chance, talk = random.Random(seed), Talk(tmp_path)
    knew: dict[str, list[str]] = {}
    line_of: list[str] = []  # ids of the prompts that count
    for number in range(12):
        step = chance.randrange(8)
        if step == 0 and number:
            talk.resume()
        elif step == 1 and number:
            talk.compact()
        elif step == 2 and any(m["id"] in line_of for m in talk.messages):
            gone = chance.choice([m["id"] for m in talk.messages if m["id"] in line_of])
            talk.rewind(gone)
            line_of = line_of[:line_of.index(gone)]
        else:
            before = [m["id"] for m in talk.messages]
            id = talk.prompt(f"prompt {number}")
            knew[id] = before
            line_of.append(id)
            if chance.random() < 0.7:
                talk.tool("write_file", "Done.", file_path="a.txt")
            talk.answer(f"Answer {number}.")
    path = talk.write(home)
    index = read_index(str(path))
    assert [t.uuid for t in index.active_turns] == line_of
    gemini = profile_named("gemini")
    for n, id in enumerate(reversed(line_of), 1):
        found = find_boundary_by_user_prompts(str(path), n, gemini)
        with open_transcript(str(path)) as file:
            assert list(fold(file, found.boundary).messages) == knew[id]
        if prompts_in(second_reader(talk.data[:found.boundary])):
            Path(write_fork(str(path), gemini, found.cut, original=str(path)).path).unlink()
    check(path)
