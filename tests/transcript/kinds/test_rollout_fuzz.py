"""Codex's rollouts, whatever bytes they hold: no crash, no write to one, no half line in a fork. And whatever
chains of files there are: what is read is what a second, obvious reader finds."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewind.agents.registry import profile_named
from rewind.errors import NotEnoughPrompts, RewindError
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import read_at, size_of
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.write.fork import write_fork
from rollouts import Talk, conversation, folder, lines_of, place_samples, prompts_in, sample
from transcript.test_fuzz import _assert_whole_lines, examples

CODEX = "codex"


class NoMemory:
    def query(self, *_: Any) -> list[Any]:
        return []

    def write(self, _: Any) -> bool:
        return False


def check(path: Path) -> None:
    """What holds for any bytes: the readers agree, forks have whole lines, nothing is changed."""
    data, codex = path.read_bytes(), profile_named(CODEX)
    others = sorted(path.parent.iterdir())
    index = read_index(str(path), codex)
    count = len(index.active_turns)
    assert open_turns(str(path), codex, NoMemory()).total == count
    with open_conversation(str(path), codex) as file:
        source = read_at(file, 0, size_of(file))
    for n in sorted({1, 2, count}):
        if not 0 < n <= count:
            continue
        found = find_boundary_by_user_prompts(str(path), n, codex)
        assert [p.offset for p in found.prompts] == [t.offset for t in index.active_turns[-n:]]
        assert found.boundary <= found.prompts[0].offset
        try:
            fork = write_fork(str(path), codex, found.cut, original=str(path))
        except RewindError:
            continue
        made = Path(fork.path)
        _assert_whole_lines(made.read_bytes(), source)
        kept = [t.prompt for t in index.active_turns[:count - n]]
        assert [t.prompt for t in read_index(str(made), codex).active_turns] == kept
        made.unlink()
    with pytest.raises(NotEnoughPrompts):
        find_boundary_by_user_prompts(str(path), count + 1, codex)
    assert path.read_bytes() == data and sorted(path.parent.iterdir()) == others


def _pieces() -> list[bytes]:
    lines = [line for number in ("01", "05", "07", "09") for line in lines_of(sample(number))[:40]]
    return [*lines, *(line[:len(line) // 2] for line in lines[::5]), *(line[:-1] for line in lines[::7]),
            b"\n", b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"type":"event_msg","payload":[]}\n',
            b'{"type":"event_msg","payload":{"type":"item_completed","item":3}}\n',
            b'{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage"}}}\n',
            b'{"type":"event_msg","payload":{"type":"user_message","message":{"a":1},"images":7}}\n',
            b'{"type":"response_item","payload":{"type":"reasoning","summary":[1,{"text":2}]}}\n',
            b'{"type":"response_item","payload":{"type":"function_call","arguments":"{"}}\n',
            b'{"type":"session_meta","payload":{"history_base":{"thread_id":"../../x"}}}\n',
            b'{"type":"session_meta","payload":null}\n']


@given(st.one_of(st.binary(max_size=400),
                 st.lists(st.sampled_from(_pieces()), max_size=30).map(b"".join)))
@examples(60)
@pytest.mark.usefixtures("home")
def test_any_bytes_are_survived(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    name = "rollout-2026-11-15T08-00-00-01a1de3f-0d9a-7501-807d-14fcead62c76.jsonl"
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(data)
    check(path)


def damaged(data: bytes, rng: random.Random) -> bytes:
    lines = lines_of(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        harm = rng.randrange(5)
        if harm == 0:
            del lines[at]
        elif harm == 1:
            lines[at] = lines[at][:rng.randrange(len(lines[at]))]
        elif harm == 2:
            place = rng.randrange(len(lines[at]))
            lines[at] = lines[at][:place] + bytes([rng.randrange(256)]) + lines[at][place + 1:]
        elif harm == 3:
            lines.insert(at, lines[rng.randrange(len(lines))])
        else:
            lines[at] = lines[at].rstrip(b"\n")
        lines = [line for line in lines if line] or [b"\n"]
    return b"".join(lines)


@pytest.mark.parametrize("number", ["01", "02", "03", "05", "07", "08", "09"])
def test_a_damaged_sample_is_survived(home: Path, number: str) -> None:
    rng = random.Random(number)
    for _ in range(6):
        shutil.rmtree(folder(home))
        files = place_samples(home)
        files[number].write_bytes(damaged(sample(number), rng))
        check(files[number])


# chains

def random_threads(home: Path, rng: random.Random) -> Iterator[tuple[Path, list[str]]]:
    """Threads that fork and rewind one another at random places, each with the prompts it has come to."""
    made: list[tuple[Talk, list[tuple[int, str]]]] = []  # with (number of the first line, prompt)
    for number in range(rng.randint(2, 6)):
        if made and rng.random() < 0.8:
            other, said = rng.choice(made)
            starts = [start for start, _ in said] + [other.ordinal]
            end = rng.choice(starts)
            again = rng.random() < 0.5
            rollout = f"01a1de41-0000-7000-8000-{number:012d}" if again else ""
            base = other.reference(max(end, json.loads(other.lines[0])["ordinal"]))
            talk = Talk(home, other.id if again else "", rollout, end, {**base, "end_ordinal_exclusive": end})
            told = [one for one in said if one[0] < end]
        else:
            talk, told = Talk(home), []
        for turn in range(rng.randint(0, 3)):
            told.append((talk.ordinal, f"{number}.{turn}"))
            talk.turn(f"{number}.{turn}", command="make" if rng.random() < 0.5 else "")
            if rng.random() < 0.2:
                talk.compact()
        made.append((talk, told))
        path = talk.write(home)
        yield path, [text for _, text in told]


@pytest.mark.parametrize("seed", range(25))
def test_random_chains_are_read_as_a_second_reader_reads_them(home: Path, seed: int) -> None:
    for path, told in random_threads(home, random.Random(seed)):
        records = conversation(path)
        assert prompts_in(records) == told
        with open_conversation(str(path), profile_named(CODEX)) as file:
            lines = read_at(file, 0, size_of(file)).splitlines()
        assert [json.loads(line) for line in lines[1:]] == records
        assert [t.prompt for t in read_index(str(path)).turns] == told
        check(path)
