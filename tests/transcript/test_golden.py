"""Every recorded transcript: what Rewind reads in it, where it cuts, and what a client finds in the fork."""

from __future__ import annotations

import json
import stat
import uuid
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import NO_EVENT, ClaudeTalk, place, resumed
from rewind.agents.registry import profile_for
from rewind.controller import AtTurn, Controller
from rewind.errors import RewindError
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.index import read_index

cli = in_process.cli  # the fixture
DATA = Path(__file__).resolve().parents[1] / "data"
SESSION = "5e551011-0000-4000-8000-00000000900d"
# What a fork of Claude's may hold beyond lines of its source.
APPENDED = {"last-prompt", "custom-title", "agent-name"}


class Sample(NamedTuple):
    agent: str
    name: str

    @property
    def data(self) -> bytes:
        return (DATA / "transcripts" / self.agent / f"{self.name}.jsonl").read_bytes()

    @property
    def golden(self) -> dict[str, Any]:
        found = json.loads((DATA / "golden" / self.agent / f"{self.name}.json").read_text("utf-8"))
        assert isinstance(found, dict)
        return found

    @property
    def active(self) -> list[dict[str, Any]]:
        return [prompt for prompt in self.golden["prompts"] if prompt["active"]]

    def place(self, cli: InProcess) -> Path:
        return place(cli.home, self.agent, cli.project, self.data, SESSION)


SAMPLES = [Sample(path.parent.name, path.stem) for path in sorted((DATA / "transcripts").glob("*/*.jsonl"))]
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.agent}-{sample.name}")
NATIVE_SOURCE = Sample("droid", "rpc_multiturn_session")


def ids_in(data: bytes) -> set[str]:
    lines = [json.loads(line) for line in data.splitlines() if line.strip()]
    return {line.get("uuid") or line.get("id") for line in lines}


# Reading

@every_sample
def test_the_reference_walk_agrees_with_the_golden_chain(sample: Sample) -> None:
    assert resumed(sample.agent, sample.data) == sample.golden["chain"]


@every_sample
def test_sessions_show_tells_every_prompt_turn_and_compaction(cli: InProcess, sample: Sample) -> None:
    path, golden = sample.place(cli), sample.golden
    shown = cli.run("sessions", "show", str(path), "--json")
    assert shown.code == 0, shown
    assert [_turn(turn) for turn in shown.data["turns"]] == [_prompt(prompt) for prompt in golden["prompts"]]
    assert shown.data["compactions"] == golden["compactions"]
    assert shown.data["agent"] == sample.agent
    assert shown.data["session_id"] == SESSION
    assert shown.data["path"] == str(path)
    _assert_title(shown.data["title"], golden["title"])
    assert path.read_bytes() == sample.data


@every_sample
def test_the_profile_is_found_wherever_a_person_has_put_the_file(
        sample: Sample, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "copied.jsonl"
    path.write_bytes(sample.data)
    assert profile_for(str(path)).name == sample.agent


@every_sample
def test_the_index_holds_prompts_chain_compactions_and_title(cli: InProcess, sample: Sample) -> None:
    index, golden = read_index(str(sample.place(cli))), sample.golden
    turns = [(t.turn, t.offset, t.prompt, t.uuid, t.active, t.timestamp) for t in index.turns]
    assert turns == [(p["turn"], p["offset"], p["text"], p["uuid"], p["active"], p["timestamp"])
                     for p in golden["prompts"]]
    assert list(index.chain) == golden["chain"]
    assert list(index.compactions) == golden["compactions"]
    _assert_title(index.title, golden["title"])


@every_sample
def test_each_boundary_is_where_its_prompt_starts(cli: InProcess, sample: Sample) -> None:
    path, golden = str(sample.place(cli)), sample.golden
    for n, offset in enumerate(golden["boundaries"], start=1):
        found = find_boundary_by_user_prompts(path, n)
        reverted = sample.active[-n:]
        assert found.boundary == offset
        assert [(p.text, p.offset, p.uuid) for p in found.prompts] == [
            (p["text"], p["offset"], p["uuid"]) for p in reverted]
        assert found.cut.leaf == (golden["kept"][reverted[0]["uuid"]] or [""])[-1]


@every_sample
def test_more_prompts_than_there_are_is_an_error_and_changes_nothing(cli: InProcess, sample: Sample) -> None:
    path = sample.place(cli)
    with pytest.raises(RewindError) as raised:
        find_boundary_by_user_prompts(str(path), sample.golden["turns"] + 1)
    assert raised.value.exit_code == 12
    cli.init()
    result = cli.run("back", str(sample.golden["turns"] + 1), "--session", str(path), "--json")
    assert result.code == 12 and result.out.strip() == "", result
    assert json.loads(result.err)["error"]["hint"]
    assert path.read_bytes() == sample.data and list(path.parent.glob("*.jsonl")) == [path]


@pytest.mark.parametrize("n", [0, -1])
def test_less_than_one_prompt_is_a_usage_error(cli: InProcess, n: int) -> None:
    path = NATIVE_SOURCE.place(cli)
    with pytest.raises(RewindError) as raised:
        find_boundary_by_user_prompts(str(path), n)
    assert raised.value.exit_code == 2


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: turn[key] for key in ("turn", "offset", "prompt", "uuid", "active", "timestamp")}


def _prompt(prompt: dict[str, Any]) -> dict[str, Any]:
    return {"turn": prompt["turn"], "offset": prompt["offset"], "prompt": prompt["text"],
            "uuid": prompt["uuid"], "active": prompt["active"], "timestamp": prompt["timestamp"]}


def _assert_title(shown: Optional[str], wanted: Optional[str]) -> None:
    """Long titles are shortened for people; the beginning has to be right."""
    if wanted is None:
        return
    assert shown
    start = shown.rstrip("….").rstrip()
    assert start[:20] and " ".join(wanted.split()).startswith(" ".join(start.split())), (shown, wanted)


# Forking

@every_sample
def test_a_fork_at_every_prompt_resumes_exactly_its_ancestors(cli: InProcess, sample: Sample) -> None:
    cli.init()
    path = sample.place(cli)
    before = _identity(path)
    for n, prompt in enumerate(reversed(sample.active), start=1):
        if sample.agent == "claude" and not sample.golden["kept"][prompt["uuid"]]:
            continue
        _assert_resumes_ancestors(sample, _fork(cli, sample, path, n), prompt)
    assert path.read_bytes() == sample.data and _identity(path) == before


@every_sample
def test_rewinding_to_a_turn_resumes_exactly_the_ancestors_of_the_next_prompt(
        cli: InProcess, sample: Sample) -> None:
    """What the page does, checked like what `back` does."""
    cli.init()
    path = sample.place(cli)
    before = _identity(path)
    for turn, prompt in enumerate(sample.active[1:], start=1):
        _assert_resumes_ancestors(sample, _to_turn(cli, path, turn), prompt)
    if sample.active:
        fork = _to_turn(cli, path, len(sample.active))
        assert resumed(sample.agent, fork.read_bytes()) == sample.golden["chain"]
        _assert_lines_of_source(sample, fork.read_bytes(), len(sample.data))
    assert path.read_bytes() == sample.data and _identity(path) == before


def _to_turn(cli: InProcess, path: Path, turn: int) -> Path:
    made = Controller(str(cli.project)).go(AtTurn(str(path), turn, after=True), "conversation").conversation
    assert made and made.fork and made.fork["path"] != str(path)
    fork = Path(made.fork["path"])
    _assert_sound(fork)
    return fork


def _assert_resumes_ancestors(sample: Sample, fork: Path, prompt: dict[str, Any]) -> None:
    kept, data = sample.golden["kept"][prompt["uuid"]], fork.read_bytes()
    assert resumed(sample.agent, data) == kept, prompt
    assert {*kept, *sample.golden["beside"][prompt["uuid"]]} <= ids_in(data), prompt
    if sample.name.startswith("v2.1.30"):
        assert resumed(sample.agent, data, explicit=False) == kept, "in the old client"
    _assert_lines_of_source(sample, data, prompt["offset"])


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.agent == "claude" and s.active],
                         ids=lambda sample: sample.name)
def test_a_cut_before_claudes_first_prompt_makes_no_file_and_says_what_to_do(
        cli: InProcess, sample: Sample) -> None:
    assert sample.golden["kept"][sample.active[0]["uuid"]] == []
    cli.init()
    path = sample.place(cli)
    result = cli.run("back", str(len(sample.active)), "--session", str(path))
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == sample.data
    assert "Fork created" not in result.out, result
    assert "new session" in (result.out + result.err).lower(), result


def test_a_fork_is_named_on_stdout_and_the_reverted_prompts_on_stderr(cli: InProcess) -> None:
    cli.init()
    path = Sample("claude", "print-3-prompts").place(cli)
    result = cli.run("back", "2", "--session", str(path))
    assert result.code == 0, result
    fork = next(other for other in path.parent.glob("*.jsonl") if other != path)
    assert result.out.splitlines()[0] == f"Fork created: {fork.stem}"
    assert "PROMPT-TWO please" in result.err and "PROMPT-THREE please" in result.err
    assert "PROMPT" not in result.out and "PROMPT-ONE" not in result.err


def _fork(cli: InProcess, sample: Sample, path: Path, n: int) -> Path:
    """The new file, with everything checked that is true of every fork."""
    before = set(path.parent.iterdir())
    result = cli.run("back", str(n), "--session", str(path), "--json")
    assert result.code == 0, (sample, n, result)
    answer, reverted = result.data, sample.active[-n:]
    assert answer["boundary"] == sample.golden["boundaries"][n - 1]
    assert [(p["text"], p["offset"], p["uuid"]) for p in answer["prompts"]] == [
        (p["text"], p["offset"], p["uuid"]) for p in reverted]
    assert answer["in_place"] is None and answer["code"] is None
    fork = Path(answer["fork"]["path"])
    assert set(path.parent.glob("*.jsonl")) - before == {fork}
    assert fork.name == f"{uuid.UUID(answer['fork']['session_id'])}.jsonl"
    assert fork.stem in answer["fork"]["resume"]
    _assert_sound(fork)
    return fork


def _assert_sound(fork: Path) -> None:
    assert uuid.UUID(fork.stem) and stat.S_IMODE(fork.stat().st_mode) == 0o600
    data = fork.read_bytes()
    assert data.endswith(b"\n") and all(json.loads(line) for line in data.splitlines())


def _identity(path: Path) -> tuple[int, int, int]:
    info = path.stat()
    return info.st_ino, info.st_mtime_ns, info.st_mode


def _assert_lines_of_source(sample: Sample, fork: bytes, boundary: int) -> None:
    """Lines are copied as they are and in their order; what is added is known."""
    source, lines = sample.data[:boundary].splitlines(True), fork.splitlines(True)
    if sample.agent == "droid":
        assert lines[1:] == source[1:]
        return
    position = 0
    for line in lines:
        if line in source[position:]:
            position = source.index(line, position) + 1
        else:
            assert json.loads(line)["type"] in APPENDED, line


# In place

@every_sample
def test_rewriting_in_place_leaves_what_a_fork_would_hold(cli: InProcess, sample: Sample) -> None:
    cli.init()
    for n, prompt in enumerate(reversed(sample.active), start=1):
        kept = sample.golden["kept"][prompt["uuid"]]
        if sample.agent == "claude" and not kept:
            continue
        path = sample.place(cli)
        result = cli.run("back", str(n), "--in-place", "--force", "--session", str(path), "--json")
        assert result.code == 0 and result.data["fork"] is None, result
        assert Path(result.data["in_place"]["backup"]).read_bytes() == sample.data
        data = path.read_bytes()
        assert data.endswith(b"\n") and all(json.loads(line) for line in data.splitlines())
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert resumed(sample.agent, data) == kept, f"back {n}"
        assert {*kept, *sample.golden["beside"][prompt["uuid"]]} <= ids_in(data), f"back {n}"
        assert list(path.parent.iterdir()) == [path]


# Titles

@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.agent == "claude" and len(s.active) > 1],
                         ids=lambda sample: sample.name)
def test_a_fork_of_claudes_carries_its_title_under_its_own_id(cli: InProcess, sample: Sample) -> None:
    cli.init()
    fork = _fork(cli, sample, sample.place(cli), 1)
    lines = [json.loads(line) for line in fork.read_bytes().splitlines()]
    title = [line for line in lines if line["type"] == "custom-title"][-1]
    name = [line for line in lines if line["type"] == "agent-name"][-1]
    assert title["customTitle"] == name["agentName"]
    assert title["sessionId"] == name["sessionId"] == fork.stem
    assert title["customTitle"].startswith("[Fork] ")
    _assert_title(title["customTitle"][len("[Fork] "):], sample.golden["title"])


def test_the_title_stacks_when_a_fork_is_forked_again(cli: InProcess) -> None:
    cli.init()
    sample = Sample("claude", "print-3-prompts")
    first = _fork(cli, sample, sample.place(cli), 1)
    again = cli.run("back", "1", "--session", str(first), "--json").data
    assert again["prompts"][0]["text"] == "PROMPT-TWO please"
    fork = Path(again["fork"]["path"])
    titles = [json.loads(line) for line in fork.read_bytes().splitlines() if b'"custom-title"' in line]
    assert titles[-1]["customTitle"].startswith("[Fork] [Fork] PROMPT-ONE")
    assert resumed("claude", fork.read_bytes()) == sample.golden["kept"][sample.active[1]["uuid"]]


# Droid's own forks

@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.agent == "droid" and s.active],
                         ids=lambda sample: sample.name)
def test_a_fork_of_droids_names_its_parent_and_the_last_message_it_holds(
        cli: InProcess, sample: Sample) -> None:
    cli.init()
    path = sample.place(cli)
    was = json.loads(sample.data.splitlines()[0])
    for n, prompt in enumerate(reversed(sample.active), start=1):
        fork = _fork(cli, sample, path, n)
        first = json.loads(fork.read_bytes().splitlines()[0])
        assert first["type"] == "session_start" and first["id"] == fork.stem
        assert first["parent"] == SESSION
        assert first["forkedAtMessageId"] == _last_message(sample.data[:prompt["offset"]]), f"back {n}"
        assert first["isSessionTitleManuallySet"] is False
        assert first["title"] == "[Fork] " + was["title"]
        assert first["cwd"] == was["cwd"] and first["version"] == was["version"]


def _last_message(data: bytes) -> str:
    """As Droid's own rewind counts: its hook records are no messages, context for the model is one."""
    lines = [json.loads(line) for line in data.splitlines()]
    return [str(line["id"]) for line in lines
            if line["type"] == "message" and line["message"].get("visibility") != "user_only"][-1]


@pytest.mark.parametrize(("native", "n"), [("native_rewind_fork", 4), ("native_fork", 1)])
def test_a_fork_equals_what_droid_itself_writes(cli: InProcess, native: str, n: int) -> None:
    cli.init()
    fork = _fork(cli, NATIVE_SOURCE, NATIVE_SOURCE.place(cli), n).read_bytes().splitlines(True)
    theirs = Sample("droid", native).data.splitlines(True)
    ours_first, their_first = json.loads(fork[0]), json.loads(theirs[0])
    assert list(ours_first) == list(their_first)
    for own in ("id", "parent", "title"):
        ours_first.pop(own)
        their_first.pop(own)
    assert ours_first == their_first
    assert fork[1:len(theirs)] == theirs[1:]
    # `--fork` was run between two prompts, so it lacks the record of the next prompt's own hook.
    assert [json.loads(line)["message"]["hookEventName"] for line in fork[len(theirs):]] == (
        ["UserPromptSubmit"] if native == "native_fork" else [])


# Trees that no recording has

@pytest.mark.parametrize("version", ["2.1.30", "2.1.162", "2.1.325"])
def test_abandoned_branches_stay_out_of_every_fork(cli: InProcess, version: str) -> None:
    talk = ClaudeTalk(version=version)
    talk.turn("one")
    first = talk.here
    talk.turn("two, abandoned")
    talk.turn("three, abandoned")
    talk.back_to(first)
    talk.turn("two")
    talk.parallel("left", "right")
    second = talk.here
    talk.turn("three, abandoned too")
    talk.back_to(second)
    talk.turn("three")
    talk.turn("four")
    path, whole = _placed(cli, talk), resumed("claude", talk.bytes())
    for n, text in enumerate(("four", "three", "two"), start=1):
        data = _back(cli, path, n, text)
        kept = whole[:whole.index(_uuid_of(talk, text))]
        assert resumed("claude", data) == kept, text
        if version == "2.1.30":
            assert resumed("claude", data, explicit=False) == kept, text
        assert b'"left"' in data or text == "two", "the result of a parallel call is gone"


@pytest.mark.parametrize("version", ["2.1.30", "2.1.325"])
def test_going_back_to_before_a_second_beginning_does_not_bring_the_first_one_back(
        cli: InProcess, version: str) -> None:
    """The client's own rewind to before the first prompt leaves the old conversation in the file."""
    talk = ClaudeTalk(version=version)
    talk.turn("abandoned")
    talk.back_to(None)
    talk.turn("another beginning")
    path = _placed(cli, talk)
    result = cli.run("back", "1", "--session", str(path))
    assert list(path.parent.glob("*.jsonl")) == [path], result
    assert "new session" in (result.out + result.err).lower(), result


@pytest.mark.parametrize("logical", ["here", "missing", "later", None])
def test_a_conversation_goes_on_across_a_compaction_wherever_its_parent_is(
        cli: InProcess, logical: Optional[str]) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.turn("two")
    later = f"{talk._count + 4:08x}-1111-4222-8333-444444444444"
    talk.compaction({"missing": SESSION, "later": later}.get(logical or "", logical))
    talk.turn("three")
    talk.turn("four")
    path, whole = _placed(cli, talk), resumed("claude", talk.bytes())
    assert len(whole) == 14
    for n, text in enumerate(("four", "three", "two"), start=1):
        assert resumed("claude", _back(cli, path, n, text)) == whole[:whole.index(_uuid_of(talk, text))]


def test_a_fork_of_a_fork_of_a_rewound_session_goes_on_where_it_stood(cli: InProcess) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    first = talk.here
    talk.turn("abandoned")
    talk.back_to(first)
    talk.turn("two")
    talk.turn("three")
    path, whole = _placed(cli, talk), resumed("claude", talk.bytes())
    for text in ("three", "two"):
        made = cli.run("back", "1", "--session", str(path), "--json").data
        assert made["prompts"][0]["text"] == text
        path = Path(made["fork"]["path"])
        assert resumed("claude", path.read_bytes()) == whole[:whole.index(_uuid_of(talk, text))]


def test_the_leaf_that_the_client_named_last_decides_what_is_active(cli: InProcess) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.turn("two")
    second = talk.here
    talk.turn("three")
    assert second is not None
    talk.last_prompt(str(talk.here), explicit=False)
    talk.last_prompt(NO_EVENT, explicit=True)
    talk.last_prompt(second, explicit=True)
    path = _placed(cli, talk)
    assert [turn.prompt for turn in read_index(str(path)).turns if turn.active] == ["one", "two"]
    assert resumed("claude", _back(cli, path, 1, "two")) == resumed("claude", talk.bytes())[:3]


def test_subagents_in_the_same_file_are_no_part_of_the_conversation(cli: InProcess) -> None:
    talk = ClaudeTalk()
    talk.turn("one")
    talk.turn("two")
    talk.sidechain("a subagent's task")
    path = _placed(cli, talk)
    assert [turn.prompt for turn in read_index(str(path)).turns] == ["one", "two"]
    assert resumed("claude", _back(cli, path, 1, "two")) == resumed("claude", talk.bytes())[:3]


def _placed(cli: InProcess, talk: ClaudeTalk) -> Path:
    cli.init()
    return place(cli.home, "claude", cli.project, talk.bytes(), SESSION)


def _back(cli: InProcess, path: Path, n: int, text: str) -> bytes:
    result = cli.run("back", str(n), "--session", str(path), "--json")
    assert result.code == 0, result
    assert result.data["prompts"][0]["text"] == text
    return Path(result.data["fork"]["path"]).read_bytes()


def _uuid_of(talk: ClaudeTalk, text: str) -> str:
    lines = [json.loads(line) for line in talk.lines]
    return next(str(line["uuid"]) for line in lines
                if line["type"] == "user" and line["message"]["content"] == text)
