"""Rewinding to a turn keeps it; the agent can go on with the branch, and all of it can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_scene import Scene, client_is_running, prompts_of
from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from make_transcripts import resumed
from rewind.agents.registry import profile_named
from rewind.checkpoint.rewind.outcome import Outcome
from rewind.controller import AtTurn
from rewind.errors import ChangedSincePlan, CompactedAway, RewindError, TurnNotFound, TurnRunning
from rewind.transcript.find import SessionNotFound


@pytest.fixture(params=["claude", "droid"])
def scene(cli: InProcess, request: pytest.FixtureRequest) -> Scene:  # noqa: F811
    scene = Scene(cli, request.param)
    scene.say("one", "two", "three")
    return scene


@pytest.fixture
def claude(cli: InProcess) -> Scene:  # noqa: F811
    return Scene(cli)


def fork_of(back: Outcome) -> Path:
    assert back.conversation and back.conversation.fork
    return Path(back.conversation.fork["path"])


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_the_turns_up_to_there_are_kept(scene: Scene, turn: int) -> None:
    before = scene.path.read_bytes()
    back = scene.to_turn(turn)
    assert prompts_of(scene.agent, fork_of(back)) == ["one", "two", "three"][:turn]
    assert scene.path.read_bytes() == before and not scene.lost() and not scene.leftovers()


@pytest.mark.parametrize("turn", [1, 2])
def test_the_branch_is_the_one_that_back_makes(scene: Scene, turn: int) -> None:
    """`rewind back N` and "rewind to turn total - N" are the same cut."""
    one = fork_of(scene.to_turn(turn))
    other = fork_of(scene.controller().rewind_back(3 - turn, session=scene.session))
    ids = (one.stem.encode(), other.stem.encode())
    assert one.read_bytes().replace(ids[0], b"ID") == other.read_bytes().replace(ids[1], b"ID")


def test_the_last_turn_is_kept_with_all_of_its_answer(scene: Scene) -> None:
    made = fork_of(scene.to_turn(3))
    assert resumed(scene.agent, made.read_bytes()) == resumed(scene.agent, scene.path.read_bytes())


def test_turns_before_a_compaction_need_an_agent_that_can_resume_them(
        claude: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    claude.say("one", "two")
    claude.talk.compaction()
    claude.say("three", "four")
    compaction = profile_named("claude").compaction
    assert compaction is not None
    monkeypatch.setitem(compaction, "resumable", False)
    with pytest.raises(CompactedAway):
        claude.to_turn(1)
    assert prompts_of("claude", fork_of(claude.to_turn(3)))[-1] == "three"
    monkeypatch.setitem(compaction, "resumable", True)
    assert prompts_of("claude", fork_of(claude.to_turn(1))) == ["one"]


def test_a_torn_end_is_not_copied(claude: Scene) -> None:
    claude.say("one")
    with open(claude.path, "ab") as file:
        file.write(b'{"type":"assistant","uui')
    made = fork_of(claude.to_turn(1))
    assert all(line.endswith(b"}") for line in made.read_bytes().splitlines())


def test_turns_are_those_of_the_active_chain(claude: Scene) -> None:
    claude.say("one")
    here = claude.talk.here
    claude.say("abandoned", "abandoned, too")
    claude.talk.back_to(here)
    claude.say("two", "three")
    for turn, wanted in ((1, ["one"]), (2, ["one", "two"]), (3, ["one", "two", "three"])):
        made = fork_of(claude.to_turn(turn))
        assert prompts_of("claude", made) == wanted


def test_before_a_compaction_the_whole_text_comes_back(claude: Scene) -> None:
    claude.say("one", "two")
    claude.talk.compaction()
    claude.say("three", "four")
    for turn in (1, 2, 3, 4):
        made = fork_of(claude.to_turn(turn))
        assert prompts_of("claude", made) == ["one", "two", "three", "four"][:turn]


def test_the_branch_knows_where_it_comes_from_and_its_name(scene: Scene) -> None:
    made = fork_of(scene.to_turn(2, name=" My   idea ")).stem
    info = scene.controller().session(made)
    assert (info.parent, info.rewind_from_turn, info.name) == (scene.session, 2, "My idea")
    with pytest.raises(RewindError, match="characters"):
        scene.to_turn(1, name="x" * 201)


@pytest.mark.parametrize("turn", [0, -1, 4, 10 ** 9])
def test_a_turn_that_is_not_there_is_said(scene: Scene, turn: int) -> None:
    with pytest.raises(TurnNotFound):
        scene.to_turn(turn)
    assert not scene.forks()


@pytest.mark.parametrize("name", ["nobody", "../../x", "", "a b"])
def test_only_sessions_of_the_project_are_rewound(scene: Scene, name: str) -> None:
    with pytest.raises(SessionNotFound):
        scene.to_turn(1, session=name)
    with pytest.raises(SessionNotFound):
        scene.to_turn(1, session=scene.session[:8])


# the code

def worked(claude: Scene, *, stop: bool = True) -> None:
    for number, text in enumerate(("one", "two", "three"), 1):
        claude.save("UserPromptSubmit", promptId=f"p{number}")
        claude.do(text, a=str(number))
        if stop:
            claude.save("Stop", promptId=f"p{number}")


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_the_code_is_that_before_the_next_prompt(claude: Scene, turn: int) -> None:
    worked(claude)
    claude.write(a="by hand", b="new")
    back = claude.to_turn(turn, both=True)
    assert (claude.read("a"), claude.read("b")) == (str(turn), None)
    assert back.record and back.exact and back.code and back.backup
    claude.controller().undo_restore()
    assert (claude.read("a"), claude.read("b")) == ("by hand", "new") and not claude.forks()
    claude.controller().redo()
    assert claude.read("a") == str(turn) and len(claude.forks()) == 1


def test_at_the_last_turn_the_code_stays_where_no_checkpoint_tells(claude: Scene) -> None:
    worked(claude, stop=False)
    claude.write(a="by hand")
    back = claude.to_turn(3, both=True)
    assert claude.read("a") == "by hand" and back.code is None
    assert any("stays as it is" in note for note in back.notes)


def test_without_a_checkpoint_from_before_only_the_chat_is_rewound(claude: Scene) -> None:
    claude.say("one", "two")
    back = claude.to_turn(1, both=True)
    assert back.code is None and back.notes and fork_of(back).exists()


# what may change between looking and doing

def test_a_plan_that_still_holds_is_carried_out(claude: Scene) -> None:
    worked(claude)
    plan = claude.controller().plan(AtTurn(claude.session, 2, after=True))
    assert (plan.total - 2, plan.code and plan.code.written) == (1, [b"a.txt"])
    claude.to_turn(2, both=True, digest=plan.digest)
    assert claude.read("a") == "2"


@pytest.mark.parametrize("change", ["a file", "a new file", "a turn", "another turn", "another mode"])
def test_a_plan_that_no_longer_holds_is_refused(claude: Scene, change: str) -> None:
    worked(claude)
    plan = claude.controller().plan(AtTurn(claude.session, 2, after=True))
    turn, both = 2, True
    if change == "a file":
        claude.write(a="other")
    elif change == "a new file":
        claude.write(new="other")
    elif change == "a turn":
        claude.say("four")
    elif change == "another turn":
        turn = 1
    else:
        both = False
    files = (claude.read("a"), claude.read("new"))
    with pytest.raises(ChangedSincePlan):
        claude.to_turn(turn, both=both, digest=plan.digest)
    assert (claude.read("a"), claude.read("new")) == files and not claude.forks()


def test_a_running_turn_is_respected(claude: Scene) -> None:
    claude.say("one", "two")
    client_is_running(claude.cli.home, claude.session, status="busy")
    for both in (False, True):
        with pytest.raises(TurnRunning):
            claude.controller().plan(AtTurn(claude.session, 1, after=True),
                                     "both" if both else "conversation")
        with pytest.raises(TurnRunning):
            claude.to_turn(1, both=both)
    assert not claude.forks()
