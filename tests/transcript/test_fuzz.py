"""Whatever bytes a transcript consists of: no crash, no write to it, no half line in a fork. And whatever
shape a conversation has: a fork resumes the ancestors of the prompt it was cut at, and nothing else."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import NO_EVENT, ClaudeTalk, DroidTalk, event_id, place, resumed
from rewind.checkpoint.project.state import State
from rewind.errors import BUG, RewindError
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.index import SessionIndex, read_index

pytestmark = pytest.mark.slow

cli = in_process.cli  # the fixture
DATA = Path(__file__).resolve().parents[1] / "data" / "transcripts"
SESSION = event_id(0xF022)


def examples(count: int) -> settings:
    """The same ones in every run, unless more are asked for with REWIND_EXAMPLES. One project and one home
    serve them all: the harness removes what each leaves behind."""
    wanted = os.environ.get("REWIND_EXAMPLES")
    return settings(max_examples=int(wanted or count), deadline=None, derandomize=not wanted, database=None,
                    suppress_health_check=list(HealthCheck))


class Harness:
    """One place for a transcript of each agent, and the claims that hold for any bytes in it."""

    def __init__(self, cli: InProcess, opened: list[State]) -> None:
        self.cli = cli
        self._opened = opened

    def write(self, agent: str, data: bytes) -> Path:
        return place(self.cli.home, agent, self.cli.project, data, SESSION)

    def back(self, path: Path, n: int) -> list[bytes]:
        """The contents of the forks that were made: one or none."""
        result = self.cli.run("back", str(n), "--session", str(path), "--json")
        for state in self._opened:
            if hasattr(state, "_objects"):
                state.close()
        self._opened.clear()
        assert result.code != BUG, result
        forks = [other for other in path.parent.iterdir() if other != path]
        assert len(forks) == (1 if result.code == 0 else 0), (result, forks)
        contents = [fork.read_bytes() for fork in forks]
        for fork in forks:
            fork.unlink()
        return contents

    def survives(self, agent: str, data: bytes) -> None:
        path = self.write(agent, data)
        shown = self.cli.run("sessions", "show", str(path), "--json")
        assert shown.code != BUG, shown
        self._counts_agree(path)
        for n in (1, 2):
            for fork in self.back(path, n):
                _assert_whole_lines(fork, data)
        assert path.read_bytes() == data

    def _counts_agree(self, path: Path) -> None:
        """The reader that starts at the end finds as many prompts as the one that reads everything."""
        found: SessionIndex = read_index(str(path))
        count = sum(1 for turn in found.turns if turn.active)
        for n in {1, count}:
            if 0 < n <= count:
                assert len(find_boundary_by_user_prompts(str(path), n).prompts) == n
        with pytest.raises(RewindError):
            find_boundary_by_user_prompts(str(path), count + 1)


@pytest.fixture
def harness(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    opened: list[State] = []
    init = State.__init__

    def remembering(self: State, *args: Any, **more: Any) -> None:
        opened.append(self)
        init(self, *args, **more)

    cli.init()
    monkeypatch.setattr(State, "__init__", remembering)
    yield Harness(cli, opened)


def _assert_whole_lines(fork: bytes, source: bytes) -> None:
    assert fork.endswith(b"\n")
    known = {line.strip() for line in source.split(b"\n")}
    for line in fork[:-1].split(b"\n"):
        assert line.strip() in known or _is_whole(line), line


def _is_whole(line: bytes) -> bool:
    """One value, or several that the source had glued together."""
    text, decoder = line.decode("utf-8", "surrogateescape").strip(), json.JSONDecoder()
    while text:
        try:
            text = text[decoder.raw_decode(text)[1]:].strip()
        except ValueError:
            return False
    return True


# Any bytes

def _pieces() -> list[bytes]:
    """What lines are made of, whole and broken, so that nonsense comes close to sense."""
    claude = ClaudeTalk()
    claude.turn("one")
    claude.tool("Bash", "result")
    claude.compaction()
    claude.turn("two")
    claude.last_prompt(event_id(2), explicit=True)
    claude.title("a title")
    droid = DroidTalk()
    droid.turn("one")
    droid.compaction()
    droid.turn("two")
    lines = [*claude.lines, *droid.lines]
    halves = [part for line in lines[::3] for part in (line[: len(line) // 2], line[len(line) // 2:])]
    marks = [b"\n"] * 3 + [b"\r\n", b"{", b"}", b"[", b'"', b"\\", b"\0", b"\xef\xbb\xbf", b"\xff", b"null"]
    return [*lines, *halves, *marks, b'"type":"user"', b'{"type":"message"}', b'{"type":"user","message":{}}']


PIECES = _pieces()
DROID_PROMPT = next(piece for piece in PIECES if b'"interactionMode"' in piece and piece.startswith(b"{"))
soup = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=12)), max_size=24).map(b"".join)


@examples(40)
@given(data=st.binary(max_size=300), agent=st.sampled_from(["claude", "droid"]))
@example(data=b"", agent="droid")
@example(data=b"\n", agent="claude")
@example(data=b"{}" * 50, agent="claude")
@example(data=b'{"type":"session_start"}\n', agent="droid")
def test_arbitrary_bytes_are_a_transcript_without_prompts(harness: Harness, agent: str, data: bytes) -> None:
    harness.survives(agent, data)


@examples(80)
@given(data=soup, agent=st.sampled_from(["claude", "droid"]))
@example(data=PIECES[-1] + b"\n", agent="claude")
@example(data=DROID_PROMPT, agent="droid")  # a prompt, and no first line before it
@example(data=DROID_PROMPT + b"\n" + DROID_PROMPT + b"\n", agent="droid")
def test_pieces_of_lines_in_any_order_do_no_harm(harness: Harness, agent: str, data: bytes) -> None:
    harness.survives(agent, data)


# Real transcripts, damaged

SAMPLES = [path for path in sorted(DATA.glob("*/*.jsonl")) if path.stat().st_size < 60_000]


def _cut(data: bytes, a: int, b: int) -> bytes:
    return data[:a] + data[b:]


def _repeat(data: bytes, a: int, b: int) -> bytes:
    return data[:b] + data[a:]


def _move(data: bytes, a: int, b: int) -> bytes:
    return data[b:] + data[a:b] + data[:a]


def _flip(data: bytes, a: int, b: int) -> bytes:
    return data[:a] + bytes(255 - byte for byte in data[a:a + 1]) + data[a + 1:]


def _splice(data: bytes, a: int, b: int) -> bytes:
    other = SAMPLES[b % len(SAMPLES)].read_bytes()
    return data[:a] + other[len(other) // 2:]


def _shuffle(data: bytes, a: int, b: int) -> bytes:
    lines = data.splitlines(True)
    random.Random(a).shuffle(lines)
    return b"".join(lines)


def _repeat_line(data: bytes, a: int, b: int) -> bytes:
    lines = data.splitlines(True)
    lines.insert(b % (len(lines) + 1), lines[a % len(lines)] if lines else b"")
    return b"".join(lines)


def _glue(data: bytes, a: int, b: int) -> bytes:
    at = data.find(b"\n", a)
    return data[:at] + data[at + 1:] if at >= 0 else data


def _windows(data: bytes, a: int, b: int) -> bytes:
    return data[:a] + data[a:].replace(b"\n", b"\r\n")


DAMAGES = [_cut, _repeat, _move, _flip, _splice, _shuffle, _repeat_line, _glue, _windows]
places = st.floats(0, 1)
damages = st.lists(st.tuples(st.sampled_from(DAMAGES), places, places), min_size=1, max_size=4)
Damage = tuple[Callable[[bytes, int, int], bytes], float, float]


@examples(80)
@given(sample=st.sampled_from(SAMPLES), done=damages)
def test_a_damaged_transcript_does_no_harm(harness: Harness, sample: Path, done: list[Damage]) -> None:
    data = sample.read_bytes()
    for damage, one, other in done:
        a, b = sorted((int(one * len(data)), int(other * len(data))))
        data = damage(data, a, b)
    harness.survives(sample.parent.name, data)


# Conversations of any shape

class Story:
    """A conversation that grows by steps a client could have taken."""

    def __init__(self, version: str) -> None:
        self.talk = ClaudeTalk(version=version)
        self.prompts: list[str] = []
        self.before: list[Optional[str]] = []  # what each prompt hangs off: where a client can rewind to
        self.explicit = version != "2.1.30"  # the old client knows nothing of explicit leaves

    def step(self, kind: str, choice: int) -> None:
        talk = self.talk
        if kind == "rewind" and self.before:  # recorded only by the next prompt
            talk.back_to(self.before[choice % len(self.before)])
        if kind in ("turn", "unanswered", "rewind"):
            self.before.append(talk.here)
            ask = talk.prompt if kind == "unanswered" else talk.turn
            self.prompts.append(ask(f"prompt {len(self.prompts)}"))
        elif kind == "tools":
            talk.parallel("left", "right") if choice % 2 else talk.tool("Bash", "result")
        elif kind == "compaction" and talk.here:
            talk.compaction(["here", event_id(0xDEAD), None, event_id(talk._count + 3)][choice % 4])
        elif kind == "aside":
            self._aside(choice)

    def _aside(self, choice: int) -> None:
        talk = self.talk
        asides: list[Callable[[], object]] = [
            lambda: talk.sidechain("a subagent's task"),
            lambda: talk.user("<command-name>/model</command-name>"),
            lambda: talk.user("<bash-input>ls</bash-input>"),
            lambda: talk.user("reminder", isMeta=True),
            lambda: talk.title(f"title {choice}"),
            lambda: talk.last_prompt(talk.here or NO_EVENT, explicit=False),
            lambda: talk.last_prompt(NO_EVENT, explicit=self.explicit),
            lambda: talk.last_prompt([*self.prompts, NO_EVENT][choice % (len(self.prompts) + 1)],
                                     explicit=self.explicit),
        ]
        asides[choice % len(asides)]()
        if choice % len(asides) == 1:  # a local command is no prompt: its output follows, not an answer
            talk.user("<local-command-stdout>done</local-command-stdout>")


KINDS = ["turn", "turn", "turn", "unanswered", "tools", "rewind", "rewind", "compaction", "aside"]
steps = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1000)), min_size=2, max_size=14)


@pytest.mark.longest
@examples(80)
@given(version=st.sampled_from(["2.1.30", "2.1.162", "2.1.325"]), taken=steps)
@example(version="2.1.30", taken=[("turn", 0), ("turn", 0), ("compaction", 1), ("rewind", 1)])
@example(version="2.1.325", taken=[("turn", 0), ("turn", 0), ("compaction", 1), ("rewind", 1)])
@example(version="2.1.30", taken=[("turn", 0), ("turn", 0), ("compaction", 3), ("turn", 0), ("rewind", 1)])
@example(version="2.1.325", taken=[("turn", 0), ("turn", 0), ("rewind", 0), ("rewind", 1)])
def test_a_fork_resumes_the_ancestors_of_its_prompt_and_nothing_else(
        harness: Harness, version: str, taken: list[tuple[str, int]]) -> None:
    story = Story(version)
    for kind, choice in taken:
        story.step(kind, choice)
    data = story.talk.bytes()
    whole = resumed("claude", data)
    active = [event for event in whole if event in story.prompts]
    path = harness.write("claude", data)
    index = read_index(str(path))
    assert list(index.chain) == whole
    assert [turn.uuid for turn in index.turns] == story.prompts
    assert [turn.uuid for turn in index.turns if turn.active] == active
    for n, prompt in enumerate(reversed(active[-4:]), start=1):
        kept = whole[:whole.index(prompt)]
        forks = harness.back(path, n)
        assert forks or not _was_anything_said(data, kept), f"no fork at back {n}"
        for fork in forks:
            assert resumed("claude", fork) == kept, f"back {n}"
            assert story.explicit or resumed("claude", fork, explicit=False) == kept, f"back {n}, old client"
            assert _results(data, kept) <= _results(fork, kept), f"back {n} lost the result of a tool"
    assert path.read_bytes() == data


def _lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def _was_anything_said(data: bytes, kept: list[str]) -> bool:
    return any(line["type"] in ("user", "assistant") for line in _lines(data) if line.get("uuid") in kept)


def _results(data: bytes, kept: list[str]) -> set[str]:
    """Results whose call is kept, be they on the chain or beside it."""
    return {line["uuid"] for line in _lines(data) if "toolUseResult" in line and line["parentUuid"] in kept}
