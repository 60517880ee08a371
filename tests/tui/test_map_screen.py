"""The list as a map: one order, lanes, folding, operations and edits, and what an empty project says."""

from __future__ import annotations

import pytest
from scene_tui import Person, at_keyboard

from chat_scene import Scene
from cli.conftest import InProcess
from map_scene import Story, afternoon
from rewind.checkpoint.map.by_session import EDIT, OPERATION, PROMPT, SESSION
from rewind.tui.parts.rows import drawn
from rewind_cli import differences, tree_state

pytestmark = pytest.mark.slow

SIZE = (100, 30)


@pytest.fixture
def scene(cli: InProcess) -> Story:
    return afternoon(cli)


def shown(person: Person) -> list[str]:
    return [drawn(row, 70, 0.0).plain.rstrip() for row in person.timeline.rows]


def test_an_afternoon_with_a_fork_a_native_rewind_an_edit_and_an_import(scene: Story) -> None:
    async def look(person: Person) -> None:
        rows = [row[:40].rstrip() for row in shown(person)]
        assert rows == [
            "  1 ◆   First checkpoint",
            "    │   ▌ A Add a health check to the se",
            "  2 ●   A t1 Add a health check to the s",
            "    ✎   you changed README.md",
            "  4 ●   A (rewound) Use dataclasses for",
            "  6 ●   A t2 Use plain dictionaries for",
            "  8 ◆─╮ before the clean-up",
            "  9 │ ● A t3 Please clean up the reposit",
            "    │   ↶ went back to before \"Please cl",
            "    │   ▌ B from turn 2 · Add a health c",
            " 11 ●   B t3 Remove unused imports only;",
            " 13 │ ◆ imported: First checkpoint",
            "    ◉   Now"]
        sizes = {row[8:24]: row[40:].split("…")[-1] for row in shown(person)}
        assert "! −240" in sizes["A t3 Please clea"] and "+8 −30" in sizes["A t2 Use plain d"]
        assert "◀ here +3" in sizes["B t3 Remove unus"]

    at_keyboard(scene, SIZE, look)


def test_arrows_unfold_a_turn_and_fold_a_session(scene: Story) -> None:
    async def look(person: Person) -> None:
        everything = len(person.items())
        await person.stand_on("Please clean up", PROMPT)
        await person.press("right")
        assert len(person.items()) == everything + 1
        assert any("◇ after this turn" in row for row in shown(person))
        await person.press("left")
        assert len(person.items()) == everything
        await person.press("left")
        assert person.timeline.item and person.timeline.item.kind == SESSION
        assert "5 rows" in shown(person)[person.timeline.cursor]
        assert "Please clean up" not in "\n".join(item.text for item in person.items() if item.kind == PROMPT)
        await person.press("right")
        assert len(person.items()) == everything
        await person.press("z")
        assert not [item for item in person.items() if item.kind == PROMPT and not item.here]
        await person.press("z")
        assert len(person.items()) == everything

    at_keyboard(scene, SIZE, look)


def test_after_a_turn_can_be_gone_to(scene: Story) -> None:
    """The checkpoint at the end of a turn on another branch, unfolded."""
    async def go(person: Person) -> None:
        await person.stand_on("Please clean up", PROMPT)
        await person.press("right", "down")
        assert person.timeline.rows[person.timeline.cursor].inner
        await person.press("enter", "2", "y", "enter")

    at_keyboard(scene, SIZE, go)
    assert not (scene.cli.project / "src").exists()


def test_an_operation_is_undone_from_its_row(scene: Story) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("went back", OPERATION)
        assert "Enter undoes it" in person.words()
        await person.press("enter")
        assert person.screen == "Confirm"
        await person.press("y", "enter")
        assert any("undone" in item.text for item in person.items() if item.kind == OPERATION)

    at_keyboard(scene, SIZE, go)
    assert not (scene.cli.project / "src").exists(), "as the turn had left it"


def test_an_edit_is_shown_and_taken_back(scene: Story) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("you changed", EDIT)
        assert "Between two turns" in person.words() and "+By hand." in person.words()
        await person.press("v", "y", "enter")

    at_keyboard(scene, SIZE, go)
    assert (scene.cli.project / "README.md").read_text() == "# Shop\n"
    assert (scene.cli.project / "settings.txt").exists()


def test_a_turn_that_was_rewound_is_reverted_by_its_checkpoints(scene: Story) -> None:
    was = tree_state(scene.cli.project)

    async def go(person: Person) -> None:
        await person.stand_on("Use dataclasses", PROMPT)
        assert "left behind" in person.words()
        await person.press("v")
        assert person.screen == "Choose", "what it added was changed since"
        await person.press("escape")

    at_keyboard(scene, SIZE, go)
    assert not differences(was, tree_state(scene.cli.project))


# nothing yet

def test_without_conversations_it_says_how_to_begin(cli: InProcess) -> None:
    cli.init()
    scene = Scene.__new__(Scene)
    scene.cli = cli

    async def look(person: Person) -> None:
        assert "No turns yet. Start your agent" in person.words()
        assert "No agent has been used here yet" in person.words()
        assert "rewind config --register-hooks" in person.words() and "Press s" in person.words()
        await person.press("f")
        assert "no conversations in this project yet" in person.words()
        await person.press("escape")

    at_keyboard(scene, SIZE, look)


def test_without_hooks_it_says_how_to_register_them(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("nobody saved this")

    async def look(person: Person) -> None:
        assert "have no checkpoint" in person.words()
        assert "Claude Code does not call Rewind." in person.words()
        assert "rewind config --register-hooks" in person.words()

    at_keyboard(scene, SIZE, look)


def test_with_checkpoints_there_is_no_advice(scene: Story) -> None:
    async def look(person: Person) -> None:
        assert "register-hooks" not in person.words()

    at_keyboard(scene, SIZE, look)
