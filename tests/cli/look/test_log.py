"""`rewind log`."""

from __future__ import annotations

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from rewind_cli import Rewind


def test_log_shows_only_the_checkpoints_that_changed_the_file(two: Rewind) -> None:
    (two.project / "other.txt").write_text("x")
    two.ok("save", "about something else")
    lines = two.ok("log", "README.md").out.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "1"]
    assert "+1 −1" in lines[0] and lines[0].endswith("two")
    assert "added +1" in lines[1] and lines[1].endswith("First checkpoint")


def test_log_of_a_file_that_is_gone_says_when_it_went(two: Rewind) -> None:
    (two.project / "new.txt").unlink()
    two.ok("save", "gone")
    gone, came = two.json("log", "new.txt")["changes"]
    assert (gone["status"], gone["insertions"], gone["deletions"]) == ("deleted", 0, 1)
    assert (came["status"], came["checkpoint"]) == ("added", two.names()[1])


def test_log_of_a_directory_adds_its_files_up(two: Rewind) -> None:
    (two.project / "src/app.py").write_text("one\n")
    (two.project / "src/b.py").write_text("b\n")
    two.ok("save")
    assert "+2 −30 in 2 files" in two.ok("log", "src").out.splitlines()[0]
    assert len(two.json("log", "src")["changes"][0]["files"]) == 2


def test_log_with_patch_shows_what_changed(two: Rewind) -> None:
    text = two.ok("log", "README.md", "--patch").out
    assert "-# one\n+# two\n" in text and "new file mode" in text
    assert "-# one\n+# two\n" in two.json("log", "README.md", "--patch")["changes"][0]["patch"]


def test_log_takes_paths_relative_to_where_you_stand(two: Rewind) -> None:
    assert len(two.run("log", "app.py", cwd=two.project / "src").out.splitlines()) == 1


def test_log_of_a_path_that_nobody_knows_is_an_error(two: Rewind) -> None:
    assert two.fails(12, "log", "no-such") == "error: No checkpoint holds no-such"
    two.fails(2, "log", "../elsewhere")
    assert two.fails_with_json(12, "log", "no-such")["code"] == "path-never-seen"


def test_log_shows_backups_with_their_number_and_passes_over_imports(two: Rewind) -> None:
    two.ok("export", "prev", str(two.home / "f.tgz"))
    (two.project / "README.md").write_text("# by hand\n")
    two.ok("restore", "2")
    two.ok("import", str(two.home / "f.tgz"))
    kinds = [change["kind"] for change in two.json("log", "README.md")["changes"]]
    assert kinds == ["manual", "backup", "manual", "initial"]
    lines = two.ok("log", "README.md").out.splitlines()
    assert "restored" in lines[0] and lines[1].split()[0] == "3"


def test_log_leaves_out_backups_of_what_checkpoints_have(two: Rewind) -> None:
    two.ok("restore", "1")
    two.ok("undo-restore")
    two.ok("restore", "1")
    (two.project / "b").write_text("b")
    two.ok("save", "after going back")
    changes = two.json("log", "README.md")["changes"]
    checkpoints = [change["description"] for change in changes if not change["operation"]]
    assert checkpoints == ["two", "First checkpoint"], "what was saved after going back did not change it"


def test_log_has_a_row_for_each_operation_that_put_another_version_there(two: Rewind) -> None:
    two.ok("restore", "1")
    two.ok("undo-restore")
    two.ok("restore", "2", "--", "new.txt")
    operations = [change["operation"] for change in two.json("log", "README.md")["changes"]]
    known = [op["id"] for op in two.json("ops")["operations"]]
    assert operations == [*known, None, None]
    assert "undid: restored" in two.ok("log", "README.md").out


def test_log_goes_on_past_what_is_damaged(two: Rewind, monkeypatch: pytest.MonkeyPatch) -> None:
    import rewind.checkpoint.search.file_log as file_log
    from rewind.errors import StoreDamaged

    real, newest = file_log._changes, two.names()[0]

    def changes(old: object, new: file_log.Source, path: bytes) -> object:
        if new.record.name == newest:
            raise StoreDamaged(what="of a test")
        return real(old, new, path)  # type: ignore[arg-type]

    monkeypatch.setattr(file_log, "_changes", changes)
    result = two.ok("log", "README.md")
    assert len(result.out.splitlines()) == 1 and f"warning: {newest} is left out" in result.err


@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_log_names_the_prompt_that_was_given_before(cli: InProcess, agent: str) -> None:
    scene = Scene(cli, agent)
    scene.save("UserPromptSubmit", promptText="write a")
    scene.do("write a", a="one\n")
    scene.save("Stop")
    scene.do("write it again", a="two\n")
    scene.save("UserPromptSubmit", promptText="a third one")
    again, first = cli.json("log", "a.txt")["changes"]
    assert first["prompt"] == {"session_id": scene.session, "turn": 1, "text": "write a"}
    assert again["prompt"]["text"] == "write it again"
    assert f"after turn 2 of {scene.session[:8]}: write it again" in cli.ok("log", "a.txt").out


def test_a_prompt_that_was_written_before_its_hook_ran_is_not_to_blame(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.do("write a", a="one\n")
    scene.talk.prompt("now test it")
    scene.flush()
    scene.save("UserPromptSubmit", promptText="now test it")
    assert cli.json("log", "a.txt")["changes"][0]["prompt"]["text"] == "write a"


def test_log_does_without_a_transcript_that_is_gone(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.do("write a", a="one\n")
    scene.save("Stop")
    scene.path.unlink()
    assert cli.json("log", "a.txt")["changes"][0]["prompt"] is None


def test_on_a_terminal_every_line_of_the_log_fits(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(cli)
    scene.save("UserPromptSubmit", promptId="p1")
    scene.do("a prompt that goes on and on, " * 10, one="one\n")
    scene.controller().save("a description that goes on and on, " * 10)
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, cli.ok("log", "one.txt").out.splitlines())) > 200, "a pipe gets all of it"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("NO_PAGER", "1")
    lines = cli.ok("log", "one.txt").out.splitlines()
    assert len(lines) == 2 and all(len(line) < 80 and line.endswith("…") for line in lines), lines


def test_what_the_hook_of_a_turns_end_says_is_not_said_twice(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.do("make it friendlier", one="one\n")
    controller = scene.controller()
    controller.save("After: make it friendlier", kind="auto", trigger={"event": "Stop"})
    first, second = cli.ok("log", "one.txt").out.splitlines()
    assert first.endswith("added +1") and second.endswith("after turn 1 of 00005e55: make it friendlier")
