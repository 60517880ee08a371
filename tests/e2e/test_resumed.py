"""Which part of a transcript the real Claude Code resumes, held against what Rewind calls active.

Every recorded transcript, and made-up ones for what no recording has: the rules of `transcript/read/leaf.py`
were found in this way. A client that reads its files otherwise one day fails here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest
from claude_client import Claude
from conversation import NEXT, Conversation
from scripted import prompt
from talk import talk

from make_transcripts import NO_EVENT, ClaudeTalk, event_id, place
from rewind_cli import Rewind

SAMPLES = sorted((Path(__file__).parents[1] / "data" / "transcripts" / "claude").glob("*.jsonl"))
SESSION = "5e551011-0000-4000-8000-0000000001ea"
NOWHERE = event_id(0xFFFFFF)
HUMAN = {"kind": "human"}
SIDE = "subagent-sidechain"  # nobody's conversation: the client does not find it, and Rewind finds no prompt

Chat = Callable[[bytes], Conversation[Claude]]


@pytest.fixture
def chat(claude: Claude, rewind: Rewind, project: Path) -> Chat:
    """A transcript in this test's project, as if its client had worked there."""
    rewind.init()

    def put(data: bytes) -> Conversation[Claude]:
        data = re.sub(rb'"cwd":"[^"]*"', b'"cwd":"%s"' % str(project).encode(), data)
        place(claude.home, "claude", project, data, SESSION)
        return Conversation(claude, rewind, SESSION)

    return put


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def spoken(found: list[dict[str, Any]]) -> list[str]:
    """What people and the model said in these lines: the client words notifications anew, and keeps errors to
    itself."""
    said = [line["message"] for line in found if line["type"] in ("user", "assistant")
            and not line.get("isApiErrorMessage") and line.get("origin", HUMAN) == HUMAN]
    return [line for line in talk(said, []) if line.startswith(("user: ", "assistant: "))]


def heard_by(chat: Conversation[Claude]) -> list[str]:
    """What the model is told, without reminders: in the recordings they have lost their end."""
    return [line for line in chat.hear() if not line.startswith("user: <system-reminder>")]


def active(chat: Conversation[Claude]) -> list[dict[str, Any]]:
    """The lines that Rewind calls active, as far as the model is to get them: since the last compaction, with
    what that kept behind its summary."""
    from rewind.transcript.read.index import read_index

    by_id = {line["uuid"]: line for line in lines(chat.bytes) if "uuid" in line}
    chain = [by_id[id] for id in read_index(str(chat.path)).chain]
    last = max((n for n, line in enumerate(chain) if line.get("subtype") == "compact_boundary"), default=None)
    if last is None:
        return chain
    kept = chain[last]["compactMetadata"]["preservedMessages"]["uuids"]
    summary = next(n for n in range(last, len(chain)) if chain[n].get("isCompactSummary"))
    before = [line for line in chain[:last] if line["uuid"] in kept]
    return [chain[summary], *before, *chain[summary + 1:]]


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.stem != SIDE], ids=lambda sample: sample.stem)
def test_the_client_resumes_what_rewind_calls_active_and_a_fork_its_beginning(
        sample: Path, chat: Chat) -> None:
    found = chat(sample.read_bytes())
    shown = found.rewind.json("sessions", "show", SESSION)["turns"]
    prompts = [turn for turn in shown if turn["active"]]
    fork = found.back(1) if len(prompts) > 1 else None
    everything, wanted = {*spoken(lines(found.bytes))}, spoken(active(found))
    heard = heard_by(found)  # from here on the client has added to the file
    assert [line for line in heard[:-1] if line in everything] == wanted
    assert heard[-1] == NEXT
    if fork:
        at = lines(found.bytes[prompts[-1]["offset"]:])[0]
        start = len(heard) - 1 - heard[::-1].index(spoken([at])[0])
        assert heard_by(fork) == [*heard[:start], NEXT]


def test_a_subagents_file_is_no_conversation(chat: Chat) -> None:
    found = chat(next(s for s in SAMPLES if s.stem == SIDE).read_bytes())
    assert found.rewind.json("sessions", "show", SESSION)["turns"] == []
    with found.client.asking(prompt("NEXT"), SESSION) as process:
        out, err = process.communicate(timeout=90)
    assert process.returncode == 1 and "No conversation found" in err, (out, err)


# What no recording has

class Made(ClaudeTalk):
    """Three turns, and how the file may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.after: dict[str, str] = {}
        for text in ("one", "two", "three"):
            self.turn(text)

    def turn(self, text: str) -> str:
        found = super().turn(text)
        self.after[text] = str(self.here)
        return found

    def from_(self, text: str) -> Made:
        self.back_to(self.after.get(text, NOWHERE))
        return self

    def noted(self, text: str, *, explicit: bool = False) -> Made:
        self.last_prompt(self.after.get(text, text), explicit=explicit)
        return self


ALL = ["one", "two", "three"]
CASES: dict[str, tuple[Callable[[Made], object], list[str]]] = {
    "progress without a parent": (lambda t: t.from_("").progress(), ALL),
    "progress of an earlier turn": (lambda t: t.from_("one").progress(), ALL),
    "through progress": (lambda t: (t.progress(), t.turn("four")), [*ALL, "four"]),
    "a lost parent, at once": (lambda t: t.from_("").turn("four"), [*ALL, "four"]),
    "a lost parent, five seconds later": (lambda t: (t.wait(4), t.from_("").turn("four")), [*ALL, "four"]),
    "a lost parent, six seconds later": (lambda t: (t.wait(5), t.from_("").turn("four")), ["four"]),
    "a lost parent after another way": (
        lambda t: (t.from_("one").turn("other"), t.from_("").turn("four")), ["one", "other", "four"]),
    "a lost parent, and a note before it": (lambda t: t.noted("three").from_("").turn("four"), ALL),
    "an unknown kind": (lambda t: t.from_("one").entry("something-new"), ALL),
    "a system line of an earlier turn": (
        lambda t: t.from_("one").entry("system", subtype="turn_duration", durationMs=1), ["one"]),
    "another way, not noted": (lambda t: t.from_("one").turn("other"), ["one", "other"]),
    "another way, before the note": (lambda t: (t.from_("one").turn("other"), t.noted("three")), ALL),
    "another way, after the note": (lambda t: t.noted("three").from_("one").turn("other"), ALL),
    "a note that lags": (lambda t: t.noted("one"), ALL),
    "two ways from the noted place": (lambda t: (t.from_("one").turn("other"), t.noted("one")),
                                      ["one", "other"]),
    "an exact note": (lambda t: t.noted("one", explicit=True), ["one"]),
    "on from an exact note": (lambda t: t.noted("one", explicit=True).from_("one").turn("other"),
                              ["one", "other"]),
    "an exact note that was not heeded": (lambda t: (t.noted("one", explicit=True), t.turn("four")),
                                          [*ALL, "four"]),
    "a note taken back": (lambda t: t.noted("one", explicit=True).noted(NO_EVENT, explicit=True), ALL),
    "a note of what is not there": (lambda t: t.noted("one", explicit=True).noted(NOWHERE), ALL),
    "exact and then not": (lambda t: t.noted("one", explicit=True).noted("three"), ALL),
}


@pytest.mark.parametrize("case", CASES)
def test_the_client_goes_on_where_rewind_thinks(case: str, chat: Chat) -> None:
    make, wanted = CASES[case]
    made = Made()
    make(made)
    found = chat(made.bytes())
    shown = found.rewind.json("sessions", "show", SESSION)["turns"]
    assert [turn["prompt"] for turn in shown if turn["active"]] == wanted
    heard = [line for line in found.hear() if line.startswith("user: ")]
    assert heard == [*(f"user: {text}" for text in wanted), NEXT]
