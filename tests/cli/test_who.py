"""Who changed what, as `show`, `diff --stat` and plans tell it."""

from __future__ import annotations

import os
import shutil

import pytest

from cli.conftest import InProcess
from map_scene import Story
from rewind_cli import Rewind


@pytest.fixture
def story(cli: InProcess) -> Story:
    """A turn with Edit, Write and a shell command that deletes a directory; edits by hand around it."""
    top = cli.project
    (top / "src").mkdir()
    for number in range(7):
        (top / f"src/part{number}.py").write_text("line\n" * 3)
    for name in ("app.py", "notes.txt"):
        (top / name).write_text("one\n")
    story = Story(cli)
    story.turn("First", a="1\n")
    (top / "notes.txt").write_text("by hand\n")
    story.begin("Please clean up the repository")
    story.use("Edit", file_path=str(top / "app.py"), old_string="one", new_string="two")
    (top / "app.py").write_text("two\n")
    story.use("Write", file_path=str(top / "new.py"), content="new")
    (top / "new.py").write_text("new\n")
    story.use("Bash", command="rm -rf src && make")
    shutil.rmtree(top / "src")
    (top / "built").write_text("x\n")
    story.finish()
    (top / "late.txt").write_text("by hand, after the turn\n")
    return story


def test_show_splits_a_turn_by_who_did_what(story: Story) -> None:
    lines = [" ".join(line.split()) for line in story.cli.ok("show", "t2").out.splitlines()]
    assert lines[:2] == [f"turn 2 of {story.session[:8]} ◀ here", "Please clean up the repository"]
    assert "by Edit ~ app.py" in lines and "by Write + new.py" in lines
    at = lines.index("by shell commands + built")
    assert lines[at + 1] == "- src/ (7 files)"
    assert "ran $ rm -rf src && make" in lines and "by you, before it ~ notes.txt" in lines
    assert not any("late.txt" in line for line in lines), "what came after its end is not the turn's"


def test_show_of_a_turn_from_before_a_fork_shows_that_turn(story: Story) -> None:
    """The fork's first turns were played in its parent."""
    fork = story.cli.json("back", "1", "--session", story.session)["fork"]
    lines = story.cli.ok("show", f"{fork['session_id'][:8]}:t1").out.splitlines()
    assert lines[:2] == [f"turn 1 of {story.session[:8]}", "  First"]


def test_show_as_json_names_who_and_keeps_the_record(story: Story) -> None:
    found = story.cli.json("show", "t2")
    assert found["trigger"]["promptText"] == "Please clean up the repository"
    by = {one["path"]: one["by"] for one in found["turn"]["changed"]}
    assert by["app.py"] == ["Edit"] and by["new.py"] == ["Write"] and by["src/part0.py"] == ["shell commands"]
    assert found["turn"]["commands"] == ["rm -rf src && make"]
    assert story.cli.json("show", "t2+")["turn"] is None


def test_diff_stat_groups_by_who(story: Story) -> None:
    lines = story.cli.ok("diff", "--stat", "t1", "t2+").out.splitlines()
    titles = {line for line in lines if line.startswith("by ")}
    assert titles == {"by others:", "by Edit:", "by shell commands:", "by Write:", "by you:"}
    at = lines.index("by you:")
    assert lines[at + 1].split()[0] == "notes.txt"
    by = {one["path"]: one["by"] for one in story.cli.json("diff", "t1", "t2+")["modified"]}
    assert by == {"app.py": ["Edit"], "notes.txt": ["you"]}


def test_what_is_saved_by_hand_while_a_turn_runs_is_still_the_turns(story: Story) -> None:
    """As `blame` says it."""
    top = story.cli.project
    story.begin("And once more")
    story.use("Edit", file_path=str(top / "app.py"), old_string="two", new_string="three")
    (top / "app.py").write_text("three\n")
    story.cli.ok("save", "in between")
    story.finish()
    by = {one["path"]: one["by"] for one in story.cli.json("diff", "t2+", "t3+")["modified"]}
    assert by == {"app.py": ["Edit"]}
    assert {line["turn"] for line in story.cli.json("blame", "app.py")["lines"]} == {3}


def test_who_is_not_guessed_across_branches_or_for_what_is_not_saved(story: Story) -> None:
    story.cli.ok("save", "late")
    story.cli.ok("restore", "t1", "--code-only")
    story.write(b="another branch\n")
    story.cli.ok("save", "other")
    assert "by " not in story.cli.ok("diff", "--stat", "t2+", "last").out
    assert "by " not in story.cli.ok("diff", "--stat").out


def test_a_plan_marks_what_you_changed_since(story: Story) -> None:
    story.cli.ok("save", "with my late file")
    lines = story.cli.ok("restore", "t1", "--dry-run", "--code-only").out.splitlines()
    assert "~ notes.txt  (changed by you since)" in lines
    assert "- late.txt  (made by you since)" in lines
    assert "+ src/ (7 files)" in lines and "~ app.py" in lines


def test_a_plan_still_marks_what_no_checkpoint_has(story: Story) -> None:
    lines = story.cli.ok("restore", "t2", "--dry-run", "--code-only").out.splitlines()
    assert "- late.txt  (made since the last checkpoint)" in lines


def test_a_rename_is_found_by_its_content(story: Story) -> None:
    top = story.cli.project
    (top / "long.txt").write_text("".join(f"line {n}\n" for n in range(40)))
    story.cli.ok("save", "before")
    os.rename(top / "notes.txt", top / "memo.txt")
    (top / "long.txt").unlink()
    (top / "longer.txt").write_text("".join(f"line {n}\n" for n in range(41)))
    story.cli.ok("save", "after")
    shown = story.cli.ok("show", "last").out
    assert "→ notes.txt → memo.txt\n" in shown and "→ long.txt → longer.txt  (" in shown
    stat = story.cli.ok("diff", "--stat", "prev", "last").out
    assert " notes.txt → memo.txt " in stat and "2 paths changed, 1 insertion(+), 0 deletions(-)" in stat
    renamed = story.cli.json("diff", "prev", "last")["renamed"]
    assert [(one["old"]["path"], one["new"]["path"], one["percent"] == 100) for one in renamed] == [
        ("long.txt", "longer.txt", False), ("notes.txt", "memo.txt", True)]
    assert "+line 40" in story.cli.ok("diff", "prev", "last").out, "a patch has both files as they are"


def test_modes_are_shown(story: Story) -> None:
    path = story.cli.project / "app.py"
    story.cli.ok("save", "before")
    path.chmod(0o755)
    path.write_text("three\n")
    story.cli.ok("save", "after")
    assert "~ app.py  (mode 644 → 755)" in story.cli.ok("show", "last").out
    assert "(mode 644 → 755)" in story.cli.ok("diff", "--stat", "prev", "last").out


def test_names_only(story: Story) -> None:
    (story.cli.project / os.fsdecode(b"odd \xff")).write_text("x")
    out = Rewind(story.cli.project, story.cli.home).ok("diff", "--name-only", "last").out
    assert os.fsencode(out).splitlines() == [b"late.txt", b"odd \xff"]
