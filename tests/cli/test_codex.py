"""Sessions of Codex on the command line, alone and beside those of other agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_session import AgentSession
from cli.any_agent import AnyAgent
from cli.conftest import InProcess
from rewind_cli import Rewind
from rollouts import Talk, lines_of


class Thread(AgentSession):
    """A thread of Codex in a project of Rewind's; its turns write files, and have checkpoints."""

    def __init__(self, cli: InProcess, **meta: Any) -> None:
        super().__init__(cli, Talk(cli.project, **meta))

    def do(self, text: str, content: str) -> None:
        turn = self.talk.start()
        self.save("UserPromptSubmit", promptId=turn, promptText=text)
        self.talk.prompt(text, turn)
        self.talk.call(self.talk.ordinal, f"echo {content}")
        (self.cli.project / "a.txt").write_text(content)
        self.talk.message("assistant", f"To {text}")
        self.save("Stop", promptId=turn)
        self.talk.event("task_complete", turn_id=turn)
        self.talk.write(self.cli.home)

    def prompts_of(self, fork: dict[str, Any]) -> list[str]:
        return prompts(fork["path"])


@pytest.fixture
def session(cli: InProcess) -> Thread:
    found = Thread(cli)
    (cli.project / "a.txt").write_text("0")
    for number in (1, 2, 3):
        found.do(f"prompt {number}", str(number))
    return found


def prompts(path: str) -> list[str]:
    records = [json.loads(line) for line in lines_of(Path(path).read_bytes())]
    return [r["payload"]["item"]["content"][0]["text"] for r in records
            if r["payload"].get("type") == "item_completed" and r["payload"]["item"]["type"] == "UserMessage"]


class TestCodex(AnyAgent):
    agent, resume = "codex", "codex resume"
    why_not_in_place = "none is rewritten in place"
    fork_title = "prompt 1"
    tool = ("exec_command", "did echo 2")


def test_sessions_and_their_turns_are_shown(session: Thread, cli: InProcess) -> None:
    one, = cli.json("sessions", "list")["sessions"]
    assert (one["session_id"], one["agent"], one["title"], one["turns"]) == (
        session.talk.id, "codex", "prompt 1", 3)
    shown = cli.json("sessions", "show", session.talk.id[:8])
    assert [turn["prompt"] for turn in shown["turns"]] == ["prompt 1", "prompt 2", "prompt 3"]
    assert shown["agent"] == "codex"


def test_a_checkpoint_holds_the_whole_of_a_conversation_that_began_in_another_file(
        session: Thread, cli: InProcess) -> None:
    talk = session.talk
    original = session.path
    other = Thread(cli, first=talk.starts[2], base=talk.reference(talk.starts[2]), forked_from_id=talk.id)
    other.do("prompt 4", "4")
    path = other.path
    original.unlink()
    error = cli.fails(1, "back", "1", "--session", other.talk.id)
    assert "its beginning is in another file" in error
    fork = cli.json("restore", "last", "--context-only")["fork"]
    assert prompts(fork["path"]) == ["prompt 1", "prompt 2", "prompt 4"]
    assert path.exists()


def test_the_code_comes_back_where_the_conversation_cannot(cli: InProcess) -> None:
    thread = Thread(cli, history_mode="of tomorrow")
    (cli.project / "a.txt").write_text("0")
    thread.do("prompt 1", "1")
    error = cli.fails(1, "back", "1", "--both")
    assert "keeps its history in another way (of tomorrow)" in error
    assert thread.read() == "1"
    asked = next(c["name"] for c in cli.json("list")["checkpoints"]
                 if c["trigger"].get("event") == "UserPromptSubmit")
    cli.ok("restore", asked, "--code-only")
    assert thread.read() == "0"


def test_a_prompt_typed_while_a_turn_ran_is_taken_back_alone(cli: InProcess) -> None:
    thread = Thread(cli)
    (cli.project / "a.txt").write_text("0")
    turn = thread.talk.start()
    for number, text in enumerate(("do this", "and that"), 1):
        thread.save("UserPromptSubmit", promptId=turn, promptText=text)
        thread.talk.prompt(text, turn)
        (cli.project / "a.txt").write_text(str(number))
        thread.talk.message("assistant", f"To {text}")
    thread.talk.event("task_complete", turn_id=turn)
    assert thread.path
    found = cli.json("back", "1", "--both")
    assert prompts(found["fork"]["path"]) == ["do this"] and thread.read() == "1" and found["code"]["exact"]
    cli.ok("undo-restore")
    assert prompts(cli.json("back", "2", "--both")["fork"]["path"]) == [] and thread.read() == "0"


def test_a_shared_thread_goes_on_in_another_home(session: Thread, cli: InProcess, tmp_path: Path) -> None:
    cli.ok("share", session.talk.id, str(tmp_path / "s.tar.gz"))
    (tmp_path / "bob").mkdir()
    (tmp_path / "review").mkdir()
    there = Rewind(tmp_path / "review", tmp_path / "bob")
    chat, = there.json("open", str(tmp_path / "s.tar.gz"))["conversations"]
    path, = (there.home / ".codex/sessions").rglob(f"*{chat['session_id']}.jsonl")
    assert prompts(str(path)) == ["prompt 1", "prompt 2", "prompt 3"]
    assert chat["resume"].endswith(f"codex resume {chat['session_id']}")
    assert json.loads(path.read_bytes().splitlines()[0])["payload"]["cwd"] == str(there.project)
    assert [line["turn"] for line in there.json("blame", "a.txt")["lines"]] == [3]
    there.ok("back", "2", "--both")
    assert (there.project / "a.txt").read_text() == "1"
