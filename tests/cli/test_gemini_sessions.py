"""Sessions of Gemini CLI on the command line, alone and beside those of other agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_session import AgentSession
from cli.any_agent import AnyAgent
from cli.conftest import InProcess
from oplogs import Talk, line, prompts_in, second_reader
from rewind.agents.registry import profile_named
from rewind.controller import Controller
from rewind.transcript.read.index import read_index
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_tools import tools_of_turn
from rewind_cli import Rewind


class Session(AgentSession):
    """A session of Gemini CLI in a project of Rewind's; its turns write files, and have checkpoints."""

    def __init__(self, cli: InProcess) -> None:
        super().__init__(cli, Talk(cli.project, live=True))

    def do(self, text: str, content: str) -> None:
        self.save("UserPromptSubmit", promptText=text)
        self.talk.prompt(text)
        self.talk.tool("write_file", "Done.", file_path="a.txt")
        (self.cli.project / "a.txt").write_text(content)
        self.talk.answer(f"To {text}")
        self.save("Stop")

    def go_back_before(self, text: str) -> None:
        """Gemini's own /rewind."""
        said = [m["id"] for m in self.talk.messages if m["content"] == [{"text": text}]]
        self.talk.rewind(said[0])

    def prompts_of(self, fork: dict[str, Any]) -> list[str]:
        return prompts(fork["path"])


@pytest.fixture
def session(cli: InProcess) -> Session:
    found = Session(cli)
    (cli.project / "a.txt").write_text("0")
    for number in (1, 2, 3):
        found.do(f"prompt {number}", str(number))
    return found


def prompts(path: str) -> list[str]:
    return prompts_in(second_reader(Path(path).read_bytes()))


class TestGemini(AnyAgent):
    agent, resume = "gemini", "gemini --resume"
    why_not_in_place = "does not tell which of them are open, so none is rewritten in place"
    fork_title = "[Fork] prompt 1"
    tool = ("write_file", "Done.")

    @pytest.mark.parametrize("n", [1, 2])
    def test_back_both_brings_code_and_conversation_to_one_moment(
            self, session: AgentSession, cli: InProcess, n: int) -> None:
        super().test_back_both_brings_code_and_conversation_to_one_moment(session, cli, n)


def test_before_the_first_prompt_the_code_comes_back_and_a_new_session_is_named(
        session: Session, cli: InProcess) -> None:
    found = cli.json("back", "3", "--both")
    assert session.read() == "0" and found["fork"] is None and found["code"]["exact"]
    assert "nothing before this prompt that Gemini CLI could continue from" in cli.fails(1, "back", "3")


def test_a_fork_has_the_exact_code_of_turns_that_it_did_not_see_itself(
        session: Session, cli: InProcess) -> None:
    """Its bytes are others than the original's, which may be gone."""
    fork = cli.json("back", "1", "--both")["fork"]
    session.path.unlink()
    again = cli.json("back", "1", "--both", "--session", fork["session_id"])
    assert session.read() == "1" and again["code"]["exact"]
    assert prompts(again["fork"]["path"]) == ["prompt 1"]


def test_the_same_words_twice_are_two_prompts(session: Session, cli: InProcess) -> None:
    session.talk.prompt("prompt 3")  # the hook did not run
    session.talk.answer("Again.")
    assert session.path.exists()
    found = cli.json("back", "1", "--both")
    assert [p["text"] for p in found["prompts"]] == ["prompt 3"] and prompts(found["fork"]["path"]) == [
        "prompt 1", "prompt 2", "prompt 3"]


def test_sessions_and_their_turns_are_shown(session: Session, cli: InProcess) -> None:
    session.go_back_before("prompt 3")
    assert session.path.exists()
    one, = cli.json("sessions", "list")["sessions"]
    assert (one["session_id"], one["agent"], one["title"], one["turns"]) == (
        session.talk.id, "gemini", "prompt 1", 2)
    shown = cli.json("sessions", "show", session.talk.id[:8])
    assert [(t["turn"], t["prompt"]) for t in shown["turns"]] == [
        (1, "prompt 1"), (2, "prompt 2"), (None, "prompt 3")]


def test_what_is_remembered_of_turns_follows_whatever_the_log_says_next(
        session: Session, cli: InProcess) -> None:
    controller = Controller(str(cli.project))

    def turns() -> list[str]:
        index = open_turns(str(session.path), profile_named("gemini"), controller.state.derived)
        return [row.prompt for row in index.turns(1, index.total)]

    try:
        assert turns() == ["prompt 1", "prompt 2", "prompt 3"]
        session.talk.prompt("prompt 4")
        assert turns() == ["prompt 1", "prompt 2", "prompt 3", "prompt 4"]
        session.go_back_before("prompt 3")
        assert turns() == ["prompt 1", "prompt 2"]
        session.talk.resume()
        session.talk.prompt("prompt 5")
        assert turns() == ["prompt 1", "prompt 2", "prompt 5"]
        session.talk.compact()
        session.talk.prompt("prompt 6")
        assert turns() == ["prompt 1", "prompt 2", "prompt 5", "prompt 6"]
    finally:
        controller.close()


def test_a_checkpoint_from_before_gemini_went_back_itself_still_has_its_place(
        session: Session, cli: InProcess) -> None:
    session.go_back_before("prompt 2")
    session.do("other", "9")
    asked = [c["name"] for c in cli.json("list")["checkpoints"] if c["trigger"].get("event") == "Stop"]
    third = asked[1]  # the newest is that of the other turn
    found = cli.json("restore", third, "--force")
    assert prompts(found["fork"]["path"]) == ["prompt 1", "prompt 2", "prompt 3"] and session.read() == "3"
    assert not any("stored copy" in note for note in found["notes"])


def test_a_turns_changes_are_its_tools(session: Session, cli: InProcess) -> None:
    """Paths that they name are relative to the directory in which the session began."""
    first = read_index(str(session.path)).turns[0]
    found = tools_of_turn(str(session.path), profile_named("gemini"), first.offset)
    assert found.edited == {str(cli.project / "a.txt"): ["write_file"]}


def test_the_code_comes_back_where_the_conversation_cannot(session: Session, cli: InProcess) -> None:
    session.talk.lines.append(line({"$branch": {"from": 1}}))
    assert session.path.exists()
    error = cli.fails(1, "back", "1", "--both")
    assert "records that this version of Rewind does not know ($branch)" in error and session.read() == "3"
    asked = next(c["name"] for c in cli.json("list")["checkpoints"]
                 if c["trigger"].get("event") == "UserPromptSubmit")
    cli.ok("restore", asked, "--code-only")
    assert session.read() == "2"


def test_a_fork_is_resumed_where_the_session_began(session: Session, cli: InProcess) -> None:
    """Gemini CLI looks for a session among those of the current directory."""
    below = cli.project / "sub"
    below.mkdir()
    talk = Talk(below, live=True)
    for text in ("one", "two"):
        talk.prompt(text)
        talk.answer("Yes.")
    talk.write(cli.home, "sub")
    fork = cli.json("back", "1", "--session", talk.id)["fork"]
    assert fork["resume"].startswith(f"cd {below} && gemini --resume ")
    assert json.loads(Path(fork["path"]).read_bytes().splitlines()[0])["summary"] == "[Fork] one"


def test_a_shared_session_waits_until_gemini_was_started_there(session: Session, cli: InProcess,
                                                                tmp_path: Path) -> None:
    cli.ok("share", session.talk.id, str(tmp_path / "s.tar.gz"))
    (tmp_path / "bob").mkdir()
    (tmp_path / "review").mkdir()
    there = Rewind(tmp_path / "review", tmp_path / "bob")
    found = there.json("open", str(tmp_path / "s.tar.gz"))
    assert not found["conversations"][0]["resume"] and "Start it once" in found["notes"][0]
    assert (there.project / "a.txt").read_text() == "3"

    Talk(there.project, live=True).write(there.home)
    chat, = there.json("open", str(tmp_path / "s.tar.gz"))["conversations"]
    path, = (p for p in there.home.rglob("*.jsonl") if "prompt 3" in p.read_text())
    assert prompts(str(path)) == ["prompt 1", "prompt 2", "prompt 3"] and chat["new"]
