"""`rewind gc`; what is kept is tested in checkpoint/."""

from __future__ import annotations

from rewind_cli import Rewind


def fill(rewind: Rewind, count: int) -> None:
    for number in range(count):
        (rewind.project / "new.txt").write_text(f"{number}\n")
        rewind.ok("save", str(number))


def test_gc_keeps_the_newest_and_answers_with_the_rest(two: Rewind) -> None:
    fill(two, 3)
    names = two.names()
    answer = two.json("gc", "--keep", "2")
    assert set(answer["deleted"]) == set(names[2:]) and answer["freedBytes"] >= 0
    assert two.names() == names[:2]
    assert two.json("validate", "--deep")["ok"] is True


def test_gc_dry_run_deletes_nothing(two: Rewind) -> None:
    fill(two, 2)
    names = two.names()
    answer = two.json("gc", "--keep", "1", "--dry-run")
    assert answer["dryRun"] is True and set(answer["deleted"]) == set(names[1:])
    assert "3 checkpoints would be deleted" in two.ok("gc", "--keep", "1", "--dry-run").out
    assert two.names() == names


def test_gc_without_options_deletes_nothing_young(two: Rewind) -> None:
    assert two.json("gc")["deleted"] == []
    assert two.ok("gc").out == "There was nothing to delete.\n"
    assert two.ok("gc", "--dry-run").out == "Nothing would be deleted\n"


def test_gc_refuses_to_keep_none(two: Rewind) -> None:
    two.fails(2, "gc", "--keep", "0")
