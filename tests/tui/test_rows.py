"""How the story is drawn: the lines in front, the words that are looked for, the ends that are cut."""

from __future__ import annotations

from typing import Optional

from rewind.checkpoint.story import CHECKPOINT, NOW, PROMPT, SESSION, Item
from rewind.tui.rows import drawn, rows_of


class Info:
    """As much of a session as is drawn."""

    def __init__(self, name: str) -> None:
        self.session_id = self.name = name
        self.archived = self.running = False
        self.file = type("File", (), {"profile": type("Profile", (), {"name": "claude"})})()


def item(kind: str, text: str, depth: int = 0, info: object = None, turn: Optional[int] = None) -> Item:
    found = Item(kind, text, 0.0, depth, session=info)  # type: ignore[arg-type]
    found.turn = turn
    return found


def story() -> list[Item]:
    parent, fork = Info("parent"), Info("fork")
    return [item(SESSION, "parent", 0, parent), item(PROMPT, "first", 0, parent, 1),
            item(CHECKPOINT, "edit", 0, parent, 1), item(SESSION, "fork", 1, fork),
            item(PROMPT, "other second", 1, fork, 2), item(PROMPT, "second", 0, parent, 2),
            item(CHECKPOINT, "last", 0, parent, 2), item(NOW, "Now")]


def test_a_fork_hangs_off_the_turn_that_it_left() -> None:
    assert [(row.guide, row.item.text) for row in rows_of(story())] == [
        ("", "parent"), ("", "first"), ("│ ", "edit"), ("├─", "fork"), ("│ ", "other second"),
        ("", "second"), ("  ", "last"), ("", "Now")]


def test_the_last_fork_ends_the_line() -> None:
    assert [row.guide for row in rows_of(story()[:5])] == ["", "", "│ ", "╰─", "  "]


def test_a_filter_wants_every_word_and_keeps_the_headings() -> None:
    assert [row.item.text for row in rows_of(story(), "SECOND other")] == ["fork", "other second"]
    assert [row.item.text for row in rows_of(story(), "second")] == [
        "parent", "fork", "other second", "second"]
    assert rows_of(story(), "nowhere") == []


def test_a_row_is_never_wider_than_the_list() -> None:
    for row in rows_of([item(PROMPT, "long 語" * 50, 0, Info("s"), 1), *story()]):
        for width in (20, 36, 72):
            assert drawn(row, width, 10.0).cell_len <= width
