"""The diff on the whole screen: files and hunks are marked and brought back, any two rows compared."""

from __future__ import annotations

import pytest
from scene_tui import SIZE, Person, at_keyboard

from chat_scene import Scene
from cli.conftest import InProcess
from map_scene import Story
from rewind.checkpoint.map.by_session import CHECKPOINT, PROMPT, Item
from rewind.tui.parts.diff_view import DiffView
from rewind.tui.screens.diff_screen import span_between
from rewind_cli import differences, tree_state

pytestmark = pytest.mark.slow

SIZE = SIZE
LINES = "".join(f"line {n}\n" for n in range(1, 41))
CHANGED = LINES.replace("line 5\n", "five\n").replace("line 20\n", "twenty\n").replace("line 35\n", "")


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    """Turn 1 writes a file, turn 2 changes it in three places and adds another, turn 3 adds a third."""
    story = Story(cli)
    story.turn("write it", a=LINES)
    story.turn("improve it", a=CHANGED, b="new\n")
    story.turn("go on", c="more\n")
    return story


def view(person: Person) -> DiffView:
    return person.app.screen.query_one(DiffView)


def lines(person: Person) -> list[str]:
    return [line.plain for line in view(person).lines]


async def open_diff(person: Person, text: str) -> None:
    await person.stand_on(text, PROMPT)
    await person.press("d")
    await person.until(lambda: person.screen == "DiffScreen" and bool(view(person).lines))


async def to_line(person: Person, text: str) -> None:
    view(person).cursor = lines(person).index(text)
    await person.calm()


def test_a_hunk_is_marked_and_brought_back_with_a_plan_and_undone(scene: Scene) -> None:
    was = tree_state(scene.cli.project)

    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await to_line(person, "+twenty")
        await person.press("space")
        assert [hunk for _, hunk in view(person).marked] and "+twenty" in lines(person)
        await person.press("b")
        assert person.screen == "Confirm" and "1 hunk in a.txt" in person.words()
        assert 'turn 2, "improve it"' in person.words() and "~ a.txt" in person.words()
        assert not differences(was, tree_state(scene.cli.project)), "the plan touches nothing"
        await person.press("y")
        assert person.screen == "OutcomeDialog" and "U to undo" in person.words()
        assert "I took back a part of your change to a.txt" in person.words(), "a note for the agent"
        await person.press("enter")
        assert person.screen == "DiffScreen"
        await person.press("U", "y", "enter")
        assert person.screen == "DiffScreen" and not differences(was, tree_state(scene.cli.project))
        await to_line(person, "+twenty")
        await person.press("b", "y", "enter", "escape")
        assert scene.read("a") == CHANGED.replace("twenty\n", "line 20\n")
        assert any("reverted 1 hunk in a.txt" in item.text for item in person.items())
        await person.press("U", "y", "enter")

    at_keyboard(scene, SIZE, go)
    assert not differences(was, tree_state(scene.cli.project))


def test_without_a_mark_the_hunk_under_the_cursor_comes_back(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await to_line(person, "-line 35")
        await person.press("enter", "y", "enter")

    at_keyboard(scene, SIZE, go)
    assert scene.read("a") == CHANGED.replace("line 36\n", "line 35\nline 36\n")
    assert scene.read("b") == "new\n" and scene.read("c") == "more\n"


def test_a_file_is_marked_on_its_name_and_everything_by_a(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await to_line(person, "b.txt")
        await person.press("space")
        assert view(person).marked == {(b"b.txt", "")}
        await person.press("a")
        assert view(person).marked == {(b"a.txt", ""), (b"b.txt", "")}
        await to_line(person, "+five")
        await person.press("space")  # all of a.txt but this hunk
        await person.press("b")
        assert "b.txt and 2 hunks in a.txt" in person.words()
        await person.press("y", "enter")

    at_keyboard(scene, SIZE, go)
    assert scene.read("a") == LINES.replace("line 5\n", "five\n") and scene.read("b") is None


def test_arrows_go_from_hunk_to_hunk(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        seen = []
        for _ in range(8):
            await person.press("right")
            seen.append(lines(person)[view(person).cursor][:6])
        assert seen[:6] == ["+ b.tx", "a.txt", "@@ -2,", "@@ -17", "@@ -32", "b.txt"]
        await person.press("left")
        assert lines(person)[view(person).cursor] == "b.txt"

    at_keyboard(scene, SIZE, go)


def test_a_conflict_is_shown_and_nothing_written_before_a_choice(scene: Scene) -> None:
    scene.write(a=CHANGED.replace("five\n", "mine\n"))
    was = tree_state(scene.cli.project)

    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await to_line(person, "+five")
        await person.press("b")
        assert person.screen == "Choose" and "1 conflict" in person.words() and "a.txt" in person.words()
        await person.press("escape")
        assert not differences(was, tree_state(scene.cli.project))
        await person.press("b", "1")
        assert person.screen == "Confirm" and "settled" in person.words()
        await person.press("y", "enter")

    at_keyboard(scene, SIZE, go)
    assert scene.read("a") == CHANGED.replace("five\n", "line 5\n")


def test_a_file_that_changed_since_the_diff_was_shown_is_not_touched(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await person.press("n")  # since then, up to now
        await person.until(lambda: "+five" in lines(person))
        await to_line(person, "+five")
        scene.write(a=CHANGED.replace("five\n", "another five\n"))
        await person.press("b")
        assert person.screen == "Notice" and "changed" in person.words()

    at_keyboard(scene, SIZE, go)
    assert scene.read("a") == CHANGED.replace("five\n", "another five\n")


def test_two_rows_are_marked_and_compared_the_earlier_one_first(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("go on", PROMPT)
        await person.press("space")
        assert person.timeline.mark and person.timeline.mark.text == "go on"
        await person.stand_on("improve it", PROMPT)
        await person.press("space")
        await person.until(lambda: person.screen == "DiffScreen" and bool(view(person).lines))
        assert "+twenty" in lines(person) and "+more" not in lines(person)
        assert "improve it → go on" in person.words()
        await person.press("x")
        await person.until(lambda: "-twenty" in lines(person))
        await person.press("escape", "escape")
        assert person.timeline.mark is None, "Esc takes the mark away"
        await person.stand_on("Now")
        await person.press("space")
        await person.stand_on("First checkpoint", CHECKPOINT)
        await person.press("d")
        await person.until(lambda: person.screen == "DiffScreen" and bool(view(person).lines))
        assert "+more" in lines(person) and "+line 1" in lines(person)

    at_keyboard(scene, SIZE, go)


def test_keys_typed_ahead_reach_the_plan(scene: Scene) -> None:
    """`b` and `y` at once: the second is for the question that the first brings up."""
    from textual import events

    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await to_line(person, "+five")
        for key in "by":
            person.app.post_message(events.Key(key, key))
        await person.until(lambda: person.screen == "OutcomeDialog")

    at_keyboard(scene, SIZE, go)
    assert scene.read("a") == CHANGED.replace("five\n", "line 5\n")


def test_the_help_of_the_diff_has_every_key(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await open_diff(person, "improve it")
        await person.press("question_mark")
        words = person.words()
        for key in ("Space", "a ", "b ", "n ", "x ", "w ", "Esc"):
            assert key in words
        await person.press("escape", "escape")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)


def test_what_has_no_checkpoint_is_not_compared_with_now_instead(scene: Scene) -> None:
    controller = scene.controller()
    first, *_, now = controller.map().items
    without = Item(PROMPT, "its checkpoint is gone", 0.0)
    for pair in ((without, first), (first, without), (without, now), (now, without)):
        span = span_between(controller, *pair)
        assert span.old is None and "no checkpoint" in span.why
    assert first.record and span_between(controller, now, first).old == first.record.name
