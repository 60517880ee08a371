"""Which branches have code to bring back, whatever was restored, undone and redone since they were made."""

from __future__ import annotations

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from rewind.checkpoint.operation_log.fork_code import replaced_code
from rewind.controller import BeforeFork


@pytest.fixture
def scene(cli: InProcess) -> Scene:  # noqa: F811
    """Three turns; each writes its number into a file."""
    scene = Scene(cli)
    for number, text in enumerate(("one", "two", "three"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(text, a=str(number))
        scene.save("Stop", promptId=f"p{number}")
    return scene


def branch(scene: Scene, turn: int = 1, *, both: bool = True) -> str:
    made = scene.to_turn(turn, both=both).conversation
    assert made and made.fork
    return str(made.fork["session_id"])


def has_code(scene: Scene, session: str) -> bool:
    return bool(scene.controller().session(session).replaced_code)


def forward(scene: Scene, session: str) -> bool:
    return scene.controller().go(BeforeFork(session), "code").record is not None


def go_on(scene: Scene, session: str) -> None:
    """Somebody said something in the branch, so it is not taken away any more."""
    path = scene.folder / f"{session}.jsonl"
    scene.talk.turn("more")
    line = scene.talk.lines[-2]
    scene._written = len(scene.talk.lines)
    with open(path, "ab") as file:
        file.write(line + b"\n")


def test_a_branch_that_took_the_code_along_has_code_to_bring_back(scene: Scene) -> None:
    made = branch(scene)
    assert has_code(scene, made) and scene.read("a") == "1"
    assert not has_code(scene, scene.session)


def test_a_branch_of_the_chat_alone_has_none(scene: Scene) -> None:
    made = branch(scene, both=False)
    assert not has_code(scene, made) and not forward(scene, made) and scene.read("a") == "3"


def test_nor_has_one_that_found_the_code_as_it_wanted_it(scene: Scene) -> None:
    assert not has_code(scene, branch(scene, 3))


def test_once_the_code_is_back_there_is_nothing_to_bring_any_more(scene: Scene) -> None:
    made = branch(scene)
    assert forward(scene, made) and scene.read("a") == "3"
    assert not has_code(scene, made)
    scene.write(a="worked on")  # in the parent; an old state must not come over it
    assert not forward(scene, made) and scene.read("a") == "worked on"


def test_undoing_the_way_back_makes_it_possible_again(scene: Scene) -> None:
    made = branch(scene)
    forward(scene, made)
    scene.controller().undo_restore()
    assert scene.read("a") == "1" and has_code(scene, made)
    assert forward(scene, made) and scene.read("a") == "3"


def test_a_step_that_was_taken_back_has_nothing_to_bring(scene: Scene) -> None:
    made = branch(scene)
    go_on(scene, made)
    scene.controller().undo_restore()
    assert scene.read("a") == "3" and not has_code(scene, made) and not forward(scene, made)


def test_a_branch_that_redo_brought_back_has_its_code_to_bring_again(scene: Scene) -> None:
    made = branch(scene)
    scene.controller().undo_restore()
    scene.controller().redo()
    assert scene.read("a") == "1" and has_code(scene, made)
    assert forward(scene, made) and scene.read("a") == "3"


def test_restoring_the_same_code_from_the_timeline_counts_as_bringing_it_back(scene: Scene) -> None:
    parents = scene.save("Stop", promptId="p3").name
    made = branch(scene)
    scene.controller().restore(parents, mode="code")
    assert scene.read("a") == "3" and not has_code(scene, made)


def test_work_that_went_on_in_the_parent_is_what_comes_back_the_second_time(scene: Scene) -> None:
    made = branch(scene)
    forward(scene, made)
    scene.write(a="worked on")
    first = scene.controller().list_checkpoints(backups=True)
    brought = next(r for r in first if r.trigger.get("promptId") == "p2" and r.trigger["event"] != "Stop")
    scene.controller().restore(brought.name, mode="code")
    assert scene.read("a") == "1" and has_code(scene, made)
    assert forward(scene, made) and scene.read("a") == "worked on"


def test_going_back_within_the_branch_changes_nothing_about_it(scene: Scene) -> None:
    made = branch(scene)
    brought = scene.log()[-2]["checkpoint"]
    scene.write(a="worked on in the branch")
    scene.controller().restore(brought, mode="code")
    assert scene.read("a") == "1" and forward(scene, made) and scene.read("a") == "3"


def test_a_restore_of_some_files_is_not_the_way_back(scene: Scene) -> None:
    made = branch(scene)
    aside = scene.controller().session(made).replaced_code
    scene.controller().restore(aside, paths=[b"a.txt"])
    assert scene.read("a") == "3" and has_code(scene, made)


def test_a_backup_that_was_collected_is_not_offered(scene: Scene) -> None:
    made = branch(scene)
    controller = scene.controller()
    controller.state.files.delete(controller.session(made).replaced_code)
    assert not has_code(scene, made) and not forward(scene, made)


def test_two_branches_have_each_their_own(scene: Scene) -> None:
    first = branch(scene, 2)
    second = branch(scene, 1)
    assert replaced_code(scene.controller().state).keys() == {first, second}
    assert forward(scene, second) and scene.read("a") == "2"
    assert has_code(scene, first) and not has_code(scene, second)
    assert forward(scene, first) and scene.read("a") == "3"


def test_a_history_that_cannot_be_read_does_not_hide_the_sessions(scene: Scene) -> None:
    made = branch(scene)
    (scene.cli.state / "operations.jsonl").write_text("no JSON\n")
    assert not has_code(scene, made)
