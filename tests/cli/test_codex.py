"""Sessions of Codex on the command line, alone and beside those of other agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_session import AgentSession
from chat_scene import Scene
from cli.conftest import InProcess
from rewind.checkpoint.conversations.which_session import session_at
from rewind.controller import Controller
from rewind.transcript.turns.turn_blocks import for_page
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_pages import read_turns
from rewind_cli import Rewind
from rollouts import Talk, folder, lines_of


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


@pytest.fixture
def thread(cli: InProcess) -> Thread:
    found = Thread(cli)
    (cli.project / "a.txt").write_text("0")
    for number in (1, 2, 3):
        found.do(f"prompt {number}", str(number))
    return found


def prompts(path: str) -> list[str]:
    records = [json.loads(line) for line in lines_of(Path(path).read_bytes())]
    return [r["payload"]["item"]["content"][0]["text"] for r in records
            if r["payload"].get("type") == "item_completed" and r["payload"]["item"]["type"] == "UserMessage"]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_back_both_brings_code_and_conversation_to_one_moment(thread: Thread, cli: InProcess, n: int) -> None:
    before = thread.path.read_bytes()
    found = cli.json("back", str(n), "--both")
    assert thread.read() == str(3 - n) and found["code"]["exact"]
    assert [p["text"] for p in found["prompts"]] == [f"prompt {i}" for i in range(4 - n, 4)]
    fork = found["fork"]
    assert prompts(fork["path"]) == [f"prompt {i}" for i in range(1, 4 - n)]
    assert fork["resume"] == f"cd {cli.project} && codex resume {fork['session_id']}"
    assert Path(fork["path"]).parent == folder(cli.home) and thread.path.read_bytes() == before
    cli.ok("undo-restore")
    assert thread.read() == "3" and not Path(fork["path"]).exists()
    cli.ok("redo")
    assert thread.read() == str(3 - n) and Path(fork["path"]).exists()


def test_sessions_and_their_turns_are_shown(thread: Thread, cli: InProcess) -> None:
    one, = cli.json("sessions", "list")["sessions"]
    assert (one["session_id"], one["agent"], one["title"], one["turns"]) == (
        thread.talk.id, "codex", "prompt 1", 3)
    shown = cli.json("sessions", "show", thread.talk.id[:8])
    assert [turn["prompt"] for turn in shown["turns"]] == ["prompt 1", "prompt 2", "prompt 3"]
    assert shown["agent"] == "codex"


def test_a_fork_is_listed_below_its_parent_and_can_be_deleted_and_brought_back(
        thread: Thread, cli: InProcess) -> None:
    fork = cli.json("back", "1")["fork"]
    found = {s["session_id"]: s for s in cli.json("sessions", "list")["sessions"]}
    assert found[fork["session_id"]]["parentSessionId"] == thread.talk.id
    cli.ok("forks", "delete", fork["session_id"])
    assert not Path(fork["path"]).exists()
    cli.ok("undo-restore")
    assert prompts(fork["path"]) == ["prompt 1", "prompt 2"]


def test_a_checkpoint_is_restored_after_the_rollout_is_gone(thread: Thread, cli: InProcess) -> None:
    thread.path.unlink()
    fork = cli.json("restore", "last", "--context-only")["fork"]
    assert prompts(fork["path"]) == ["prompt 1", "prompt 2", "prompt 3"]


def test_a_checkpoint_holds_the_whole_of_a_conversation_that_began_in_another_file(
        thread: Thread, cli: InProcess) -> None:
    talk = thread.talk
    original = thread.path
    other = Thread(cli, first=talk.starts[2], base=talk.reference(talk.starts[2]), forked_from_id=talk.id)
    other.do("prompt 4", "4")
    path = other.path
    original.unlink()
    error = cli.fails(1, "back", "1", "--session", other.talk.id)
    assert "its beginning is in another file" in error
    fork = cli.json("restore", "last", "--context-only")["fork"]
    assert prompts(fork["path"]) == ["prompt 1", "prompt 2", "prompt 4"]
    assert path.exists()


def test_in_place_is_refused_with_the_reason(thread: Thread, cli: InProcess) -> None:
    before = thread.path.read_bytes()
    for words in (["back", "1", "--in-place"], ["back", "1", "--in-place", "--force"]):
        assert "none is rewritten in place" in cli.fails(1, *words)
    assert thread.path.read_bytes() == before and thread.read() == "3"


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


def test_sessions_of_two_agents_side_by_side(thread: Thread, cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("to Claude")
    agents = {s["agent"]: s["session_id"] for s in cli.json("sessions", "list")["sessions"]}
    assert agents == {"codex": thread.talk.id, "claude": scene.session}
    assert "codex resume" in cli.json("back", "1", "--session", agents["codex"])["fork"]["resume"]
    scene.say("more")
    assert "claude --resume" in cli.json("back", "1", "--session", agents["claude"])["fork"]["resume"]


def test_what_was_said_is_shown_turn_by_turn(thread: Thread, cli: InProcess) -> None:
    controller = Controller(str(cli.project))
    try:
        found = session_at(str(thread.path), controller.project.home)
        index = open_turns(found.path, found.profile, controller.state.derived)
        turn, = read_turns(index, 2, 2, for_page())
    finally:
        controller.close()
    kinds = [(block["kind"], block.get("name"), block.get("result")) for block in turn.blocks]
    assert kinds == [("tool", "exec_command", "did echo 2"), ("text", None, None)]
    assert turn.prompt == "prompt 2" and turn.blocks[1]["text"] == "To prompt 2"


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


def test_a_shared_thread_goes_on_in_another_home(thread: Thread, cli: InProcess, tmp_path: Path) -> None:
    cli.ok("share", thread.talk.id, str(tmp_path / "s.tar.gz"))
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
