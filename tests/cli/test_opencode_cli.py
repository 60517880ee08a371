"""Sessions of opencode on the command line, alone and beside those of other agents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_session import AgentSession
from cli.any_agent import AnyAgent
from cli.conftest import InProcess
from opencode_sessions import Line, Talk, fake_client, folder, tool
from rewind_cli import Rewind


class Session(AgentSession):
    """A session of opencode in a project of Rewind's; its turns write files, and have checkpoints."""

    def __init__(self, cli: InProcess, imported: Path, **info: Any) -> None:
        super().__init__(cli, Talk(cli.project, **info))
        self.imported = imported

    @property
    def path(self) -> Path:
        return folder(self.cli.home, self.cli.project) / f"{self.talk.id}.jsonl"

    def save(self, event: str, **trigger: Any) -> None:
        self.talk.write(self.cli.home)
        super().save(event, **trigger)

    def do(self, text: str, content: str) -> None:
        """The copy is written before the prompt, and at the end of the turn."""
        told = self.talk.messages
        asked = self.talk.prompt(text)
        self.talk.messages = told[:-1]
        self.save("UserPromptSubmit", promptId=asked, promptText=text)
        self.talk.messages = told
        self.talk.answer(asked, tool(f"call_{content}", f"did {content}"))
        (self.cli.project / "a.txt").write_text(content)
        self.talk.answer(asked, {"type": "text", "text": f"To {text}"})
        self.save("Stop", promptId=asked)

    def prompts_of(self, fork: Line) -> list[str]:
        """The prompts of a fork as opencode has got it."""
        data = json.loads((self.imported / f"{fork['session_id']}.json").read_text())
        assert data["cwd"] == str(self.cli.project) and data["info"]["id"] == fork["session_id"]
        return [m["parts"][0]["text"] for m in data["messages"] if m["info"]["role"] == "user"]

    def has(self, fork: Line) -> bool:
        return (self.imported / f"{fork['session_id']}.json").exists()


@pytest.fixture
def imported(cli: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return fake_client(tmp_path / "bin")


@pytest.fixture
def session(cli: InProcess, imported: Path) -> Session:
    found = Session(cli, imported)
    (cli.project / "a.txt").write_text("0")
    for number in (1, 2, 3):
        found.do(f"prompt {number}", str(number))
    return found


class TestOpencode(AnyAgent):
    agent, resume = "opencode", "opencode -s"
    why_not_in_place = "in a database of its own"
    fork_title = "[Fork] A talk"
    tool = ("bash", "did 2")


def test_a_fork_that_went_on_is_kept(session: Session, cli: InProcess) -> None:
    fork = cli.json("back", "1")["fork"]
    went_on = Talk(cli.project, fork["session_id"])
    for text in ("prompt 1", "prompt 2", "and now"):
        went_on.turn(text, "out")
    went_on.write(cli.home)
    done = cli.ok("undo-restore")
    assert "Kept the fork, because it was continued" in done.out + done.err
    assert session.has(fork) and Path(fork["path"]).exists()


def test_a_checkpoint_is_restored_after_its_rows_were_undone(session: Session, cli: InProcess) -> None:
    """opencode's own /undo takes them out of the copy, and the next prompt out of the database."""
    session.talk.messages = session.talk.messages[:3]
    session.do("another", "4")
    fork = cli.json("back", "1")["fork"]
    assert session.prompts_of(fork) == ["prompt 1"]
    second = [c["name"] for c in cli.json("list")["checkpoints"] if c["trigger"].get("event") == "Stop"][-2]
    restored = cli.json("restore", second, "--context-only")["fork"]
    assert session.prompts_of(restored) == ["prompt 1", "prompt 2"]


def test_without_the_client_nothing_is_restored(
        session: Session, cli: InProcess, imported: Path) -> None:
    (imported.parent / "opencode").unlink()
    assert "opencode is not on your PATH" in cli.fails(1, "back", "1", "--both")
    assert session.read() == "3"
    asked = next(c["name"] for c in cli.json("list")["checkpoints"]
                 if c["trigger"].get("event") == "UserPromptSubmit")
    cli.ok("restore", asked, "--code-only")
    assert session.read() == "2"


def test_the_code_comes_back_where_the_conversation_cannot(cli: InProcess, imported: Path) -> None:
    session = Session(cli, imported, version="2.4.0")
    (cli.project / "a.txt").write_text("0")
    session.do("prompt 1", "1")
    session.do("prompt 2", "2")
    assert "written by opencode 2.4.0" in cli.fails(1, "back", "1", "--both")
    assert session.read() == "2" and not imported.exists()
    asked = [c["name"] for c in cli.json("list")["checkpoints"]
             if c["trigger"].get("event") == "UserPromptSubmit"]
    cli.ok("restore", asked[-1], "--code-only")
    assert session.read() == "0"


def test_a_shared_session_is_given_to_opencode_there(session: Session, cli: InProcess, tmp_path: Path,
                                                     imported: Path) -> None:
    cli.ok("share", session.talk.id, str(tmp_path / "s.tar.gz"))
    (tmp_path / "bob").mkdir()
    (tmp_path / "review").mkdir()
    there = Rewind(tmp_path / "review", tmp_path / "bob")
    there.env["PATH"] = os.environ["PATH"]
    chat, = there.json("open", str(tmp_path / "s.tar.gz"))["conversations"]
    data = json.loads((imported / f"{chat['session_id']}.json").read_text())
    assert data["cwd"] == str(there.project)
    assert [m["parts"][0]["text"] for m in data["messages"] if m["info"]["role"] == "user"] == [
        "prompt 1", "prompt 2", "prompt 3"]
