"""`rewind save`."""

from __future__ import annotations

from rewind_cli import Rewind


def test_save_prints_the_name_last_so_that_it_can_be_copied(two: Rewind) -> None:
    done = two.ok("save", "third")
    assert done.out == f"Saved {two.names()[0]}\n"
    assert "files" in done.err


def test_save_answers_with_what_it_holds(two: Rewind) -> None:
    (two.project / "more.txt").write_text("more\n")
    answer = two.json("save", "third")
    assert answer["created"] is True and answer["checkpoint"] == two.names()[0]
    assert answer["code"]["fileCount"] == 4 and answer["code"]["uncovered"] == 0
    assert answer["code"]["newBytes"] > 0 and answer["hasTranscript"] is False
    assert two.json("list")["checkpoints"][0]["description"] == "third"


def test_save_if_changed_returns_the_last_one_when_nothing_changed(two: Rewind) -> None:
    last = two.names()[0]
    answer = two.json("save", "--if-changed")
    assert answer["created"] is False and answer["checkpoint"] == last
    assert two.ok("save", "--if-changed").out == f"Nothing changed since {last}\n"
    (two.project / "new.txt").write_text("newer\n")
    assert two.json("save", "--if-changed")["created"] is True


def test_save_dry_run_says_what_changed_and_saves_nothing(two: Rewind) -> None:
    (two.project / "new.txt").write_text("newer\n")
    before = two.names()
    answer = two.json("save", "--dry-run")
    assert [item["path"] for item in answer["changed"]] == ["new.txt"]
    assert "1 path changed" in two.ok("save", "--dry-run").out
    assert two.names() == before
