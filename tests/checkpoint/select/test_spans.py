"""What `t4`, `t2..t4`, `SESSION:t4`, `A..B` and a checkpoint mean."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from chat_scene import Scene
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.select.spans import Span, spans
from rewind.controller import Controller
from rewind.errors import RewindError

cli = in_process.cli  # the fixture


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    return Scene(cli)


def turn(scene: Scene, text: str, **files: str) -> tuple[str, str]:
    """A turn with its two checkpoints: at the prompt and at its end."""
    number = scene.talk.prompts + 1
    before = scene.save("UserPromptSubmit", promptId=f"p{number}", promptText=text)
    scene.do(text, **files)
    after = scene.save("Stop", promptId=f"p{number}")
    return before.name, after.name


def named(scene: Scene, *texts: str, session: Optional[str] = None) -> list[Span]:
    return spans(scene.controller().state, list(texts), session)


def ends(found: list[Span]) -> list[tuple[str, Optional[str]]]:
    return [(span.before.name, span.after.name if span.after else None) for span in found]


def refused(scene: Scene, *texts: str) -> RewindError:
    with pytest.raises(RewindError) as caught:
        named(scene, *texts)
    assert "\n" not in caught.value.message and caught.value.hint
    return caught.value


@pytest.fixture
def three(scene: Scene) -> list[tuple[str, str]]:
    return [turn(scene, f"prompt {n}", **{f"f{n}": "x"}) for n in (1, 2, 3)]


def test_a_turn_lies_between_its_prompt_and_its_end(scene: Scene, three: Any) -> None:
    [found] = named(scene, "t2")
    assert ends([found]) == [three[1]]
    assert (found.turn, found.prompt, found.session) == (2, "prompt 2", scene.session)
    assert ends(named(scene, "turn:2")) == [three[1]]


def test_edits_between_two_turns_belong_to_neither(scene: Scene) -> None:
    first = turn(scene, "one", a="1")
    scene.write(mine="by hand")
    second = turn(scene, "two", b="2")
    assert ends(named(scene, "t1", "t2")) == [first, second]


def test_a_range_of_turns_is_each_of_them(scene: Scene, three: Any) -> None:
    assert ends(named(scene, "t1..t3")) == three
    assert ends(named(scene, "t2..t2")) == [three[1]]


def test_spans_come_oldest_first_and_once(scene: Scene, three: Any) -> None:
    assert ends(named(scene, "t3", "t1", "t3", "turn:1")) == [three[0], three[2]]


def test_a_session_can_be_named_by_the_beginning_of_its_id(scene: Scene, three: Any) -> None:
    assert ends(named(scene, f"{scene.session}:t3")) == [three[2]]
    assert ends(named(scene, f"{scene.session[:35]}:turn:3")) == [three[2]]
    assert ends(named(scene, "t3", session=scene.session)) == [three[2]]
    assert ends(named(scene, f"{scene.session}:t1..t2")) == three[:2]


def test_two_checkpoints_are_a_span(scene: Scene, three: Any) -> None:
    a, b = three[0][0], three[2][1]
    [found] = named(scene, f"{a}..{b}")
    assert ends([found]) == [(a, b)] and found.turn is None and found.session == ""


def test_a_single_checkpoint_is_what_changed_since_its_parent(scene: Scene, three: Any) -> None:
    assert ends(named(scene, three[1][1])) == [three[1]]
    assert ends(named(scene, "last")) == [three[2]]


def test_a_bare_number_is_a_checkpoint(scene: Scene, three: Any) -> None:
    assert ends(named(scene, "2"))[0][1] == scene.controller().find("2").name


def test_without_a_stop_the_turn_ends_at_the_next_prompt(scene: Scene) -> None:
    a = scene.save("UserPromptSubmit", promptId="p1", promptText="one").name
    scene.do("one", a="1")
    b = scene.save("UserPromptSubmit", promptId="p2", promptText="two").name
    scene.do("two", b="1")
    assert ends(named(scene, "t1")) == [(a, b)]


def test_the_last_turn_without_a_checkpoint_since_ends_in_the_working_tree(scene: Scene) -> None:
    turn(scene, "one", a="1")
    b = scene.save("UserPromptSubmit", promptId="p2", promptText="two").name
    scene.do("two", b="1")
    assert ends(named(scene, "t2")) == [(b, None)]


def test_what_the_agents_own_rewind_left_behind_is_no_part_of_the_turn_before(scene: Scene) -> None:
    first = turn(scene, "one", a="1")
    place = scene.talk.here
    turn(scene, "two", b="left behind")
    scene.talk.back_to(place)
    again = turn(scene, "two again", c="kept")
    assert ends(named(scene, "t1", "t2")) == [first, again]


def test_a_save_by_hand_after_the_last_turn_does_not_count_as_its_end(scene: Scene) -> None:
    last = turn(scene, "one", a="1")
    scene.write(mine="by hand")
    scene.cli.save("mine")
    assert ends(named(scene, "t1")) == [last]


def test_a_turn_of_a_session_that_was_named_says_so(scene: Scene, three: Any) -> None:
    assert [span.label for span in named(scene, "t2")] == ["turn 2"]
    assert [span.label for span in named(scene, f"{scene.session}:t2")] == [f"turn 2 of {scene.session[:8]}"]


def test_in_a_project_without_conversations_each_checkpoint_is_a_turn(cli: InProcess) -> None:
    cli.init()
    names = [cli.names()[0]]
    for n in (1, 2):
        (cli.project / "a.txt").write_text(str(n))
        names.append(cli.save(f"step {n}"))
    controller = Controller(str(cli.project))
    found = spans(controller.state, ["t2..t3"])
    assert ends(found) == [(names[0], names[1]), (names[1], names[2])]
    assert [span.prompt for span in found] == ["step 1", "step 2"]
    for text in ("t1", "t9"):
        with pytest.raises(RewindError) as caught:
            spans(controller.state, [text])
        assert caught.value.exit_code == 12


def test_an_abandoned_line_has_no_turns(cli: InProcess) -> None:
    cli.init()
    (cli.project / "a.txt").write_text("1")
    cli.save("left behind")
    cli.ok("undo")
    (cli.project / "a.txt").write_text("2")
    cli.save("kept")
    controller = Controller(str(cli.project))
    assert [span.prompt for span in spans(controller.state, ["t2"])] == ["kept"]


# what is refused

def test_a_turn_that_is_not_there(scene: Scene, three: Any) -> None:
    assert refused(scene, "t4").exit_code == refused(scene, "t0").exit_code == 12
    assert "3 turns" in refused(scene, "t2..t4").message


def test_a_turn_without_a_checkpoint(scene: Scene) -> None:
    turn(scene, "one", a="1")
    scene.do("two", b="1")
    scene.do("three", c="1")
    turn(scene, "four", d="1")
    error = refused(scene, "t3")
    assert error.exit_code == 12 and error.code == "turn-without-checkpoint"


def test_a_session_without_code(scene: Scene) -> None:
    scene.say("one", "two")
    error = refused(scene, "t1")
    assert error.exit_code == 12 and error.code == "session-without-code"


def test_a_checkpoint_that_gc_took(scene: Scene, three: Any) -> None:
    assert refused(scene, f"20200101_000000_001..{three[0][0]}").exit_code == 12
    assert refused(scene, "20200101_000000_001").exit_code == 12


def test_a_session_that_is_not_there(scene: Scene, three: Any) -> None:
    assert refused(scene, "nosuch:t1").exit_code == 12


@pytest.mark.parametrize("text", ["t3..t1", "t1..", "..t1", "a..", "..", "t1..last", "last..t1",
                                  "x:t1..y:t2"])
def test_what_is_no_range_is_a_usage_error(scene: Scene, three: Any, text: str) -> None:
    assert refused(scene, text).exit_code == 2


def test_the_first_checkpoint_has_nothing_before_it(scene: Scene) -> None:
    first = scene.records()[-1].name
    assert refused(scene, first).code == "checkpoint-without-parent"
