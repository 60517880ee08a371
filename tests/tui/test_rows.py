"""How the timeline is drawn: the lines in front, the words that are looked for, the ends that are cut."""

from __future__ import annotations

from typing import Optional

from rewind.checkpoint.map.by_session import CHECKPOINT, NOW, OPERATION, PROMPT, SESSION, Item
from rewind.checkpoint.map.turn_map import MapRow
from rewind.tui.parts.rows import drawn, folded_at_first, rows_of


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


def branched() -> list[Item]:
    """Turns 1 and 2; back to before 2; another 2, on which the project stands."""
    parent, fork = Info("parent"), Info("fork")
    found = [item(SESSION, "parent", 0, parent), item(PROMPT, "one", 0, parent, 1),
             item(PROMPT, "two", 0, parent, 2), item(OPERATION, "went back"), item(SESSION, "fork", 1, fork),
             item(PROMPT, "other two", 1, fork, 2), item(PROMPT, "no checkpoint", 1, fork, 3),
             item(NOW, "Now")]
    first, second, other = (MapRow("turn", one.text, 0.0, None, None) for one in
                            (found[1], found[2], found[5]))
    second.parent = other.parent = first
    found[1].row, found[2].row, found[5].row, found[7].row = first, second, other, other
    return found


def test_branches_have_lanes_and_now_stands_on_its_own_branch() -> None:
    assert [(row.lane.rstrip(), row.item.text) for row in rows_of(branched())] == [
        ("", "parent"), ("●─╮", "one"), ("│ ●", "two"), ("│", "went back"), ("│", "fork"), ("●", "other two"),
        ("│", "no checkpoint"), ("●", "Now")]


def test_a_line_without_branches_has_no_lanes() -> None:
    assert {row.lane for row in rows_of(story())} == {""}


def test_the_sign_of_a_row_stands_in_its_lane() -> None:
    shown = [drawn(row, 40, 10.0).plain.rstrip() for row in rows_of(branched())]
    assert [line[4:9].rstrip() for line in shown] == [
        "    ▌", "○─╮ t", "│ ○ t", "│   ↶", "│   ▌", "○   t", "│   ○", "◉   N"]


def test_a_folded_session_hides_its_turns_and_says_how_many() -> None:
    items = branched()
    rows = rows_of(items, folded={items[4].key})
    assert [row.item.text for row in rows] == ["parent", "one", "two", "went back", "fork", "Now"]
    assert "2 rows · fork" in drawn(rows[4], 40, 10.0).plain
    assert rows[-1].lane.startswith("●"), "the line goes on past what is folded away"


def test_in_a_long_list_older_sessions_are_folded() -> None:
    infos = [Info(name) for name in ("old", "older still", "last but one", "last")]
    items = [one for info in infos for one in (item(SESSION, info.name, 0, info), *(
        item(PROMPT, f"{info.name} {n}", 0, info, n) for n in range(1, 60)))]
    assert {key[1] for key in folded_at_first(items)} == {"old", "older still"}
    assert not folded_at_first(items[:100])
    items[3].here = True
    assert {key[1] for key in folded_at_first(items)} == {"older still"}, "the one that you stand in stays"


def test_a_turn_shows_its_checkpoints_when_it_is_opened() -> None:
    items = branched()
    items[1].under = [item(CHECKPOINT, "Stop", 0, items[1].session, 1)]
    assert [row.hidden for row in rows_of(items)][1] == 1
    rows = rows_of(items, opened={items[1].key})
    assert rows[2].inner and rows[2].item.text == "Stop"


def test_a_filter_wants_every_word_and_keeps_the_headings() -> None:
    assert [row.item.text for row in rows_of(story(), "SECOND other")] == ["fork", "other second"]
    assert [row.item.text for row in rows_of(story(), "second")] == [
        "parent", "fork", "other second", "second"]
    assert rows_of(story(), "nowhere") == []


def test_a_row_is_never_wider_than_the_list() -> None:
    for row in rows_of([item(PROMPT, "long 語" * 50, 0, Info("s"), 1), *story()]):
        for width in (20, 36, 72):
            assert drawn(row, width, 10.0).cell_len <= width


def test_a_row_shows_lines_only_where_all_of_them_were_counted() -> None:
    one = item(PROMPT, "rename it everywhere", 0, Info("s"), 1)
    one.changes = {"files": [], "added": 200, "removed": 180, "more": 3000, "counted": True}
    assert "+200 −180" in drawn(rows_of([one])[0], 60, 10.0).plain
    one.changes["counted"] = False
    assert "3,000 files" in (line := drawn(rows_of([one])[0], 60, 10.0).plain) and "+200" not in line
