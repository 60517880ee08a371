"""The history of the page: a turn with the checkpoints before and after it is one row."""

from __future__ import annotations

from web.scene import Shop
from web.site import Site


def test_every_turn_is_a_row_with_what_it_changed(site: Site) -> None:
    found = site.get("/api/history")
    turns = [row for row in found["rows"] if row["kind"] == "turn"]
    assert len(turns) == 4 and found["total"] == len(found["rows"]) and found["waiting"] == 0
    assert [row["changes"]["files"] for row in turns] == [1, 1, 2, 1], "newest first"
    assert turns[0]["here"] and turns[0]["ended"] and turns[0]["sessionId"] == site.session
    assert turns[0]["before"] != turns[0]["after"] and turns[0]["after"] in turns[0]["checkpoints"]


def test_edits_checkpoints_and_operations_are_rows(site: Site, shop: Shop) -> None:
    (shop.cli.project / "a.txt").write_text("by hand")
    saved = site.does("save_checkpoint", description="by hand")["checkpoint"]["name"]
    site.does("restore_checkpoint", name=site.of_session("shape")["turns"][0]["from"])
    rows = site.get("/api/history")["rows"]
    assert [row["kind"] for row in rows[:2]] == ["operation", "checkpoint"]
    assert rows[0]["text"].startswith("restored") and rows[0]["before"]
    assert rows[1]["checkpoints"] == [saved] and rows[1]["changes"]["files"] == 1
    assert {row["kind"] for row in site.get("/api/history", kind="operation")["rows"]} == {"operation"}


def test_words_are_looked_for_in_texts_and_names_of_files(site: Site, shop: Shop) -> None:
    site.does("save_checkpoint", description="By Hand")
    assert [row["text"] for row in site.get("/api/history", q="by hand")["rows"]] == ["By Hand"]
    found = site.get("/api/history", q="C.TXT")["rows"]
    assert len(found) == 1 and found[0]["changes"]["files"] == 1
    assert site.get("/api/history", q="nothing")["rows"] == []


def test_pages_go_on_where_the_last_one_ended(site: Site) -> None:
    whole = site.get("/api/history")["rows"]
    first = site.get("/api/history", count=2)["rows"]
    rest = site.get("/api/history", count=100, after=first[-1]["key"])["rows"]
    assert first + rest == whole
    oldest = next(row for row in reversed(whole) if row["checkpoints"])
    far = site.get("/api/history", count=1, upto=oldest["checkpoints"][0])["rows"]
    assert oldest in far
    site.fails(400, "/api/history", kind="none")


def test_a_row_says_when_not_all_lines_were_counted(site: Site, shop: Shop) -> None:
    for number in range(250):
        (shop.cli.project / f"made{number}.txt").write_text("one line\n")
    site.does("save_checkpoint", description="many files")
    rows = site.get("/api/history")["rows"]
    many, turn = rows[0]["changes"], next(row for row in rows if row["kind"] == "turn")["changes"]
    assert (many["files"], many["counted"], turn["counted"]) == (250, False, True)
