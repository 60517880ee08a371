"""What holds for the conversations of every agent whose sessions are only forked, never rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_session import AgentSession
from chat_scene import Scene
from cli.conftest import InProcess
from rewind.checkpoint.conversations.which_session import session_at
from rewind.controller import Controller
from rewind.transcript.turns.turn_blocks import for_page
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_pages import read_turns


class AnyAgent:
    """The fixture `session` of each file has three turns: `prompt 1` wrote "1" into `a.txt`, and so on."""

    agent = ""
    resume = ""  # the command that resumes a session, without its id
    why_not_in_place = ""
    fork_title = ""
    tool = ("", "")  # the one that the second turn used, and its result

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_back_both_brings_code_and_conversation_to_one_moment(
            self, session: AgentSession, cli: InProcess, n: int) -> None:
        before = session.path.read_bytes()
        found = cli.json("back", str(n), "--both")
        assert session.read() == str(3 - n) and found["code"]["exact"]
        assert [p["text"] for p in found["prompts"]] == [f"prompt {i}" for i in range(4 - n, 4)]
        fork, left = found["fork"], [f"prompt {i}" for i in range(1, 4 - n)]
        assert session.prompts_of(fork) == left
        assert fork["resume"] == f"cd {cli.project} && {self.resume} {fork['session_id']}"
        assert Path(fork["path"]).parent == session.path.parent and session.path.read_bytes() == before
        cli.ok("undo-restore")
        assert session.read() == "3" and not session.has(fork)
        cli.ok("redo")
        assert session.read() == str(3 - n) and session.prompts_of(fork) == left

    def test_a_fork_is_listed_below_its_parent_and_can_be_deleted_and_brought_back(
            self, session: AgentSession, cli: InProcess) -> None:
        fork = cli.json("back", "1")["fork"]
        found = {s["session_id"]: s for s in cli.json("sessions", "list")["sessions"]}
        assert found[fork["session_id"]]["parentSessionId"] == session.talk.id
        assert found[fork["session_id"]]["title"] == self.fork_title
        cli.ok("forks", "delete", fork["session_id"])
        assert not session.has(fork) and not Path(fork["path"]).exists()
        cli.ok("undo-restore")
        assert session.prompts_of(fork) == ["prompt 1", "prompt 2"]

    def test_a_checkpoint_is_restored_after_the_transcript_is_gone(
            self, session: AgentSession, cli: InProcess) -> None:
        session.path.unlink()
        fork = cli.json("restore", "last", "--context-only")["fork"]
        assert session.prompts_of(fork) == ["prompt 1", "prompt 2", "prompt 3"]
        found = {s["session_id"]: s for s in cli.json("sessions", "list")["sessions"]}
        assert found[fork["session_id"]]["parentSessionId"] == session.talk.id

    def test_in_place_is_refused_with_the_reason(self, session: AgentSession, cli: InProcess) -> None:
        before = session.path.read_bytes()
        for words in (["back", "1", "--in-place"], ["back", "1", "--in-place", "--force"]):
            assert self.why_not_in_place in cli.fails(1, *words)
        assert session.path.read_bytes() == before and session.read() == "3"

    def test_sessions_of_two_agents_side_by_side(self, session: AgentSession, cli: InProcess) -> None:
        scene = Scene(cli)
        scene.say("to Claude")
        agents = {s["agent"]: s["session_id"] for s in cli.json("sessions", "list")["sessions"]}
        assert agents == {self.agent: session.talk.id, "claude": scene.session}
        assert self.resume in cli.json("back", "1", "--session", agents[self.agent])["fork"]["resume"]
        scene.say("more")
        assert "claude --resume" in cli.json("back", "1", "--session", agents["claude"])["fork"]["resume"]

    def test_what_was_said_is_shown_turn_by_turn(self, session: AgentSession, cli: InProcess) -> None:
        controller = Controller(str(cli.project))
        try:
            found = session_at(str(session.path), controller.project.home)
            index = open_turns(found.path, found.profile, controller.state.derived)
            turn, = read_turns(index, 2, 2, for_page())
        finally:
            controller.close()
        blocks = [block for block in turn.blocks if block["kind"] != "thinking"]
        kinds = [(block["kind"], block.get("name"), block.get("result")) for block in blocks]
        assert kinds == [("tool", *self.tool), ("text", None, None)]
        assert turn.prompt == "prompt 2" and blocks[1]["text"] == "To prompt 2"
