"""Sequences of going back and forth that a person would try, each with where it must lead; and a store of the
previous version."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Optional

import pytest

from chat_scene import Scene
from checkpoint.rewind.killed import killed_after
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import compact, session_folder
from rewind_cli import CHECKOUT, Rewind

pytestmark = pytest.mark.slow

cli = in_process.cli  # the fixture

OLD_STORE = CHECKOUT / "tests" / "data" / "old-store.tar.gz"
OLD_VERSION = "67e3dbe"


class Line:
    """A project with one file, and names for its states."""

    def __init__(self, cli: InProcess) -> None:
        self.cli = cli
        self.write("A")
        cli.ok("init")
        self.names = {"A": cli.names()[0]}

    def write(self, text: str) -> None:
        (self.cli.project / "a.txt").write_text(text)

    def save(self, text: str) -> None:
        self.write(text)
        self.names[text] = self.cli.save(text)

    @property
    def text(self) -> str:
        return (self.cli.project / "a.txt").read_text()

    @property
    def here(self) -> str:
        """By the text in it."""
        found = self.cli.json("status")["here"]
        names = {name: text for text, name in self.names.items()}
        return names.get(found) or self.cli.ok("cat", f"{found}:a.txt").out

    def go(self, *args: str) -> str:
        """Run it, and say where that led."""
        self.cli.ok(*args)
        assert self.here == self.text, "the project stands on what it has"
        return self.text

    def nothing(self, command: str) -> None:
        before = self.text, self.here, self.operations()
        self.cli.fails(12, command)
        assert before == (self.text, self.here, self.operations())

    def operations(self) -> list[dict[str, Any]]:
        found = self.cli.json("ops")["operations"]
        assert isinstance(found, list)
        return found

    def undone(self) -> dict[str, bool]:
        return {op["command"]: op["undone"] for op in self.operations()}


@pytest.fixture
def line(cli: InProcess) -> Line:
    """A, then B, then C."""
    line = Line(cli)
    line.save("B")
    line.save("C")
    return line


def test_undo_after_a_restore_and_new_work_stays_on_its_own_branch(line: Line) -> None:
    line.cli.ok("restore", line.names["A"])
    line.save("D")
    assert line.go("undo") == "A"
    line.nothing("undo")  # A is the root
    assert line.go("redo") == "D"
    line.nothing("redo")


def test_undo_goes_on_to_before_the_checkpoint_that_was_restored(cli: InProcess) -> None:
    line = Line(cli)
    line.save("B")
    line.save("C")
    line.cli.ok("restore", line.names["B"])
    line.save("D")
    assert line.go("undo") == "B"
    assert line.go("undo") == "A"
    line.nothing("undo")
    assert line.go("redo") == "B"
    assert line.go("redo") == "D"
    line.nothing("redo")


def test_the_state_before_a_restore_is_reached_by_undo_restore_and_not_by_undo(line: Line) -> None:
    line.cli.ok("restore", line.names["A"])
    line.save("D")
    assert line.go("undo") == "A"
    assert line.go("undo-restore") == "D"  # the undo
    assert line.go("undo-restore") == "C"  # the restore
    line.nothing("undo-restore")
    assert line.go("redo") == "D"
    assert line.go("redo") == "A"
    assert line.go("redo") == "D"  # the undo itself
    line.nothing("redo")


def test_redo_after_undo_restore_brings_back_what_was_saved_after_the_restore(line: Line) -> None:
    line.cli.ok("restore", line.names["A"])
    line.save("D")
    assert line.go("undo-restore") == "C"
    assert line.go("redo") == "D"
    line.nothing("redo")


def test_redo_after_undo_restore_brings_back_edits_that_were_never_saved(line: Line) -> None:
    line.cli.ok("restore", line.names["A"])
    line.write("not saved")
    assert line.go("undo-restore") == "C"
    assert line.go("redo") == "not saved"


def test_undo_then_undo_restore_then_redo_twice(line: Line) -> None:
    assert line.go("undo") == "B"
    assert line.go("undo-restore") == "C"
    assert line.go("redo") == "B"
    assert line.undone()["undo"] is False
    assert line.go("redo") == "C"
    assert line.undone()["undo"] is True
    line.nothing("redo")


def test_with_unsaved_edits_undo_goes_to_where_the_project_stands(line: Line) -> None:
    line.write("edited")
    assert line.go("undo") == "C"
    assert line.go("undo") == "B"
    assert line.go("redo") == "C"
    assert line.go("redo") == "edited"
    line.nothing("redo")


def test_redo_refuses_to_replace_unsaved_edits_and_force_puts_them_into_a_backup(line: Line) -> None:
    line.go("undo")
    line.write("edited")
    line.cli.fails(13, "redo")
    assert line.text == "edited"
    done = line.cli.json("redo", "--force")
    assert line.text == "C" and line.cli.ok("cat", f"{done['backup']}:a.txt").out == "edited"


def test_a_dry_run_of_redo_says_that_it_would_be_refused(line: Line) -> None:
    line.go("undo")
    line.write("edited")
    assert line.cli.run("redo", "--dry-run").code == 13
    assert line.cli.run("redo", "--dry-run", "--force").code == 0


def test_redo_ends_with_a_checkpoint_that_has_a_new_tree_and_not_with_another(line: Line) -> None:
    line.go("undo")
    line.cli.save("nothing new")
    assert line.go("redo") == "C"
    line.go("undo")
    line.save("new")
    line.nothing("redo")


def test_redo_ends_with_the_next_restore(line: Line) -> None:
    line.go("undo")
    line.go("restore", line.names["A"])
    line.nothing("redo")


def test_redo_after_everything_was_redone_exits_12(line: Line) -> None:
    line.nothing("redo")
    line.go("undo")
    line.go("undo")
    assert line.go("redo") == "B" and line.go("redo") == "C"
    line.nothing("redo")
    line.nothing("redo")


def test_undo_restore_with_an_operation_undoes_it_and_all_later_ones(line: Line) -> None:
    line.cli.ok("restore", line.names["A"])
    first = line.operations()[0]["id"]
    line.cli.ok("restore", line.names["B"])
    line.go("undo")
    assert line.go("undo-restore", first) == "C"
    assert [op["undone"] for op in line.operations() if op["command"] != "undo-restore"] == [True] * 3
    line.nothing("undo-restore")
    assert line.go("redo") == "A"
    assert not any(op["undone"] for op in line.operations() if op["command"] != "undo-restore")


def test_a_restore_leaves_a_row_among_the_operations(line: Line) -> None:
    done = line.cli.json("restore", line.names["A"])
    row = line.operations()[0]
    assert row["id"] == done["operation"] and row["command"] == "restore"
    assert (row["undone"], row["canUndo"], row["interrupted"]) == (False, True, False)
    assert line.names["A"] in row["text"] and row["id"] in line.cli.ok("ops").out


def test_a_restore_to_where_everything_is_as_wanted_is_not_logged(line: Line) -> None:
    line.cli.ok("restore", line.names["C"])
    assert line.operations() == []


def test_a_restore_that_only_moves_here_is_a_step(line: Line) -> None:
    again = line.cli.save("C again")
    line.cli.ok("restore", line.names["C"])
    assert len(line.operations()) == 1 and line.here == "C"
    line.cli.ok("undo-restore")
    assert line.cli.json("status")["here"] == again


def test_a_restore_of_some_paths_leaves_here_where_it_is(line: Line) -> None:
    (line.cli.project / "b.txt").write_text("b")
    line.save("D")
    line.cli.ok("restore", line.names["A"], "--", "a.txt")
    assert line.text == "A" and line.here == "D"
    line.cli.ok("undo-restore")
    assert line.text == "D" and line.here == "D"
    line.cli.ok("redo")
    assert line.text == "A" and line.here == "D"


def test_the_dry_run_of_undo_restore_agrees_where_the_restored_path_is_gone_again(line: Line) -> None:
    path = line.cli.project / "a.txt"
    path.unlink()
    line.cli.save("without it")
    line.cli.ok("restore", line.names["A"], "--", "a.txt")
    path.unlink()
    plan = line.cli.json("undo-restore", "--dry-run")
    assert plan["written"] == plan["deleted"] == []
    line.cli.ok("undo-restore")
    assert not path.exists()


def test_undo_goes_past_a_directory_that_only_an_ignore_file_hid(cli: InProcess) -> None:
    """The file in it is recorded, so it was not left alone."""
    line = Line(cli)
    (cli.project / "d").mkdir()
    (cli.project / "d" / "f.txt").write_text("f")
    cli.save("with a directory")
    (cli.project / ".rewindignore").write_text("d/\n")
    cli.ok("undo")
    assert not (cli.project / ".rewindignore").exists() and (cli.project / "d" / "f.txt").exists()
    cli.ok("undo")
    assert not (cli.project / "d").exists() and line.here == "A"


def test_an_ignored_directory_survives_any_order_of_going_back_until_it_is_captured(line: Line) -> None:
    """Although the ignore file itself comes and goes."""
    line.cli.ok("config", "--set", "ignoredDirMaxFiles=3")
    build = line.cli.project / "build"
    build.mkdir()
    for number in range(5):
        (build / str(number)).write_text("made")
    ignore = line.cli.project / ".gitignore"
    ignore.write_text("build/\n")
    line.save("D")
    for step in (["restore", line.names["C"]], ["restore", line.names["A"]], ["undo-restore"], ["undo"],
                 ["undo"], ["redo"], ["restore", line.names["D"]], ["undo"], ["undo"], ["undo-restore"],
                 ["restore", line.names["B"], "--", "."], ["undo"]):
        line.cli.ok(*step)
        assert len(list(build.iterdir())) == 5, step
    assert not ignore.exists()
    held = line.cli.save("it is an ordinary directory now")
    line.cli.ok("restore", line.names["A"])
    assert not build.exists() and line.cli.ok("cat", f"{held}:build/0").out == "made"


# interrupted

class Files:
    """Six files of which each state has another text, so that an operation can be stopped among them."""

    def __init__(self, cli: InProcess) -> None:
        self.cli = cli
        self.write("A")
        cli.ok("init")
        self.first = cli.names()[0]
        self.write("B")
        self.second = cli.save("B")

    def write(self, text: str) -> None:
        for number in range(6):
            (self.cli.project / f"{number}.txt").write_text(text)

    @property
    def text(self) -> str:
        return "".join(sorted({p.read_text() for p in self.cli.project.glob("*.txt")}))

    def kill(self, *args: str) -> dict[str, Any]:
        """Until it is stopped among the files."""
        was = self.text
        for calls in range(100):
            assert killed_after(calls, list(args), self.cli.project), "it ended"
            if self.text != was:
                break
        assert self.text == "AB"
        return self.operation()

    def operation(self) -> dict[str, Any]:
        found = self.cli.json("ops")["operations"][0]
        assert isinstance(found, dict)
        return found

    @property
    def here(self) -> Any:
        return self.cli.json("status")["here"]


@pytest.fixture
def stopped(cli: InProcess) -> Files:
    return Files(cli)


def test_an_interrupted_restore_is_undone_and_leaves_nothing_to_redo(stopped: Files) -> None:
    op = stopped.kill("restore", stopped.first)
    assert op["interrupted"] and op["canUndo"] and not op["undone"] and stopped.here == stopped.second
    assert "interrupted" in stopped.cli.ok("list").err
    stopped.cli.ok("undo-restore")
    assert stopped.text == "B" and stopped.here == stopped.second
    stopped.cli.fails(12, "redo")
    stopped.cli.fails(12, "undo-restore")


def test_the_same_command_again_finishes_it_and_its_way_back_is_what_was_before_it(stopped: Files) -> None:
    stopped.kill("restore", stopped.first)
    stopped.cli.ok("restore", stopped.first)
    assert stopped.text == "A" and stopped.here == stopped.first
    assert not stopped.operation()["interrupted"]
    stopped.cli.ok("undo-restore")
    assert stopped.text == "B" and stopped.here == stopped.second
    stopped.cli.fails(12, "undo-restore")


def test_a_checkpoint_during_an_interruption_comes_from_what_was_there_before(stopped: Files) -> None:
    stopped.kill("restore", stopped.first)
    made = stopped.cli.save("half and half")
    assert stopped.cli.json("show", made)["parent"] == stopped.second and stopped.here == made
    stopped.cli.ok("undo-restore")
    assert stopped.text == "B" and stopped.here == stopped.second and made in stopped.cli.names()


def test_an_interrupted_redo_can_be_undone_and_the_log_says_so(stopped: Files) -> None:
    stopped.cli.ok("undo")
    op = stopped.kill("redo")
    assert op["interrupted"]
    assert op["canUndo"], "`undo-restore` undoes it"
    stopped.cli.ok("undo-restore")
    assert stopped.text == "A" and stopped.here == stopped.first


def test_an_interrupted_redo_is_finished_by_redo(stopped: Files) -> None:
    stopped.cli.ok("undo")
    stopped.kill("redo")
    stopped.cli.ok("redo")
    assert stopped.text == "B" and stopped.here == stopped.second
    stopped.cli.fails(12, "redo")


@pytest.mark.parametrize("command", ["undo", "undo-restore"])
def test_an_interrupted_undo_is_taken_back_by_redo_and_only_edits_stand_in_the_way(
        stopped: Files, command: str) -> None:
    if command == "undo-restore":
        stopped.cli.ok("restore", stopped.first)
    before, here = stopped.text, stopped.here
    stopped.kill(command)
    (stopped.cli.project / "0.txt").write_text("edited since")
    stopped.cli.fails(13, "redo")
    (stopped.cli.project / "0.txt").write_text(before)
    stopped.cli.ok("redo")
    assert stopped.text == before and stopped.here == here


def test_an_interrupted_undo_restore_is_finished_by_the_next_one(stopped: Files) -> None:
    stopped.cli.ok("restore", stopped.first)
    stopped.kill("undo-restore")
    stopped.cli.ok("undo-restore")
    assert stopped.text == "B" and stopped.here == stopped.second
    stopped.cli.ok("redo")
    assert stopped.text == "A" and stopped.here == stopped.first


# conversations

@pytest.fixture
def talk(cli: InProcess) -> Scene:
    """Five turns, each with the checkpoints that hooks make before and after it."""
    scene = Scene(cli)
    for number in range(1, 6):
        turn(scene, str(number))
    scene.remember()
    return scene


def turn(scene: Scene, text: str) -> None:
    scene.save("UserPromptSubmit", promptId=f"p{scene.talk.prompts + 1}", promptText=text)
    scene.do(text, a=text)
    scene.save("Stop", promptId=f"p{scene.talk.prompts}")


def back(scene: Scene, *args: str) -> Path:
    return Path(scene.cli.json("back", *args, "--session", scene.session)["fork"]["path"])


def go_on(scene: Scene, fork: Path, text: str) -> None:
    """A turn in a fork, with its checkpoints."""
    def line(kind: str, uuid: str, content: Any, parent: Optional[str]) -> bytes:
        return compact({"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": uuid,
                        "promptId": text, "sessionId": fork.stem, "timestamp": "2026-03-01T12:00:00.000Z",
                        "version": "2.1.325", "cwd": str(scene.cli.project),
                        "message": {"role": kind, "content": content}}) + b"\n"

    entries = [json.loads(raw) for raw in fork.read_bytes().splitlines()]
    leaf = next(e.get("leafUuid") or e["uuid"] for e in reversed(entries)
                if e.get("explicit") or e.get("uuid"))
    scene.save("UserPromptSubmit", path=fork, promptId=text, promptText=text)
    with open(fork, "ab") as file:
        file.write(line("user", f"u-{text}", text, leaf))
        file.write(line("assistant", f"a-{text}", [{"type": "text", "text": "Yes"}], f"u-{text}"))
    scene.write(a=text)
    scene.save("Stop", path=fork, promptId=text)


def test_work_in_a_fork_is_kept_when_the_step_that_made_it_is_undone(talk: Scene) -> None:
    fork = back(talk, "2", "--both")
    assert talk.read("a") == "3"
    go_on(talk, fork, "in the fork")
    talk.write(b="not saved")
    talk.remember()
    done = talk.cli.json("undo-restore")
    assert talk.read("a") == "5" and talk.read("b") is None
    assert fork.exists() and talk.fork(fork) == ["1", "2", "3", "in the fork"]
    assert any(fork.stem in note and "kept" in note.lower() for note in done["notes"]), done["notes"]
    assert talk.cli.ok("cat", f"{done['backup']}:a.txt").out == "in the fork"
    assert talk.cli.ok("cat", f"{done['backup']}:b.txt").out == "not saved"
    talk.cli.ok("redo")
    assert talk.read("a") == "in the fork" and talk.read("b") == "not saved" and talk.lost() == []


def test_a_fork_that_nobody_went_on_with_goes_to_the_trash_and_comes_back(talk: Scene) -> None:
    fork = back(talk, "2", "--both")
    talk.remember()
    talk.cli.ok("undo-restore")
    assert not fork.exists() and talk.read("a") == "5"
    talk.cli.ok("redo")
    assert fork.exists() and talk.read("a") == "3" and talk.lost() == []


def test_the_second_undo_in_a_fork_does_not_walk_into_the_branch_that_was_left(talk: Scene) -> None:
    fork = back(talk, "3", "--both")
    assert talk.read("a") == "2"
    go_on(talk, fork, "in the fork")
    texts = []
    while talk.cli.run("undo").code == 0:
        texts.append(talk.read("a"))
    assert texts == ["2", "1", None]
    for wanted in ("1", "2", "in the fork"):
        talk.cli.ok("redo")
        assert talk.read("a") == wanted
    talk.cli.fails(12, "redo")


def test_renaming_and_deleting_forks_are_steps(talk: Scene) -> None:
    fork = back(talk, "1")

    def name() -> Any:
        return {f["session_id"]: f["name"] for f in talk.cli.json("forks")["forks"]}.get(fork.stem)

    talk.cli.ok("forks", "rename", fork.stem, "try")
    talk.cli.ok("forks", "delete", fork.stem)
    talk.remember()
    assert not fork.exists()
    talk.cli.ok("undo-restore")
    assert fork.exists() and name() == "try"
    talk.cli.ok("undo-restore")
    assert name() is None
    talk.cli.ok("undo-restore")
    assert not fork.exists()
    talk.cli.fails(12, "undo-restore")
    for _ in range(3):
        talk.cli.ok("redo")
    assert not fork.exists() and talk.read("a") == "5" and talk.lost() == []
    talk.cli.fails(12, "redo")
    talk.cli.ok("forks", "undelete", fork.stem)
    assert fork.exists() and name() == "try"


# a store of the previous version

class Old:
    def __init__(self, cli: InProcess, expected: dict[str, Any]) -> None:
        self.cli = cli
        self.expected = expected

    def tree(self, folder: Optional[Path] = None) -> dict[str, str]:
        top = folder or self.cli.project
        return {str(p.relative_to(top)): p.read_text() for p in sorted(top.rglob("*"))
                if p.is_file() and ".agent" not in p.parts}


@pytest.fixture
def old(cli: InProcess, tmp_path: Path) -> Old:
    """The archive says `/old-store` for where it is, and the sessions' directory is named after that."""
    cli.project.rmdir()
    with tarfile.open(OLD_STORE) as archive:
        for member in archive.getmembers():
            target = tmp_path / member.name
            if member.isdir():
                target.mkdir(exist_ok=True, mode=0o700)
                continue
            reader = archive.extractfile(member)
            assert reader is not None
            target.write_bytes(reader.read())
            target.chmod(member.mode)
    sessions = session_folder(cli.home, "claude", cli.project)
    (sessions.parent / "SESSIONS-project").rename(sessions)
    for path in [*cli.state.rglob("*.json"), *(cli.home / ".rewind").rglob("*.json")]:
        text = path.read_text().replace("SESSIONS-project", sessions.name)
        data = json.loads(text.replace("/old-store", str(tmp_path)))
        data.pop("check", None)
        path.write_text(json.dumps(data))
    return Old(cli, json.loads((tmp_path / "expected.json").read_text()))


def test_every_checkpoint_of_an_old_store_restores_exactly(old: Old, tmp_path: Path) -> None:
    assert old.cli.names(backups=True) == old.expected["order"]
    for name, files in old.expected["checkpoints"].items():
        out = tmp_path / f"out-{name}"
        old.cli.ok("restore", name, "--to", str(out))
        assert old.tree(out) == files
    for name, files in old.expected["checkpoints"].items():
        old.cli.ok("restore", name, "--code-only")
        assert old.tree() == files and old.cli.json("status")["here"] == name


def test_the_forks_of_an_old_store_are_there(old: Old) -> None:
    forks = {f["session_id"]: f for f in old.cli.json("forks")["forks"]}
    assert len(forks) == 2 and forks[old.expected["fork"]]["name"] == "try it so"
    assert all(Path(f["path"]).exists() for f in forks.values())


def test_the_last_step_of_an_old_store_is_undone_and_redone(old: Old) -> None:
    fork = next(Path(f["path"]) for f in old.cli.json("forks")["forks"]
                if f["session_id"] == old.expected["fork"])
    assert old.tree() == old.expected["now"]
    old.cli.ok("undo-restore")
    assert old.tree() == old.expected["before"] and not fork.exists()
    old.cli.ok("redo")
    assert old.tree() == old.expected["now"] and fork.exists()


def test_undo_in_an_old_store_goes_on_where_it_stood(old: Old) -> None:
    """After `back --both` the project stood on the checkpoint of turn 3."""
    names = list(old.expected["checkpoints"])
    assert old.cli.json("status")["here"] == names[2]
    old.cli.ok("undo")
    assert old.tree() == old.expected["checkpoints"][names[1]]
    old.cli.ok("undo")
    assert old.tree() == old.expected["checkpoints"][names[0]]
    old.cli.fails(12, "undo")


def test_reading_an_old_store_leaves_it_to_the_old_version(old: Old) -> None:
    for command in (["list"], ["status"], ["ops"], ["forks"], ["undo", "--dry-run"],
                    ["undo-restore", "--dry-run"]):
        old.cli.ok(*command)
    assert json.loads((old.cli.state / "store.json").read_text())["format"] == 1


@pytest.mark.slow
def test_after_a_step_the_old_version_refuses_the_store_with_one_sentence(old: Old, tmp_path: Path) -> None:
    old.cli.ok("undo-restore")
    assert json.loads((old.cli.state / "store.json").read_text())["format"] == 2
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    archive = subprocess.run(["git", "archive", OLD_VERSION, "bin", "src"], cwd=CHECKOUT, capture_output=True)
    if archive.returncode:
        pytest.skip("the old version is not in this copy of the repository")
    subprocess.run(["tar", "-x", "-C", str(checkout)], input=archive.stdout, check=True)
    program = Rewind(old.cli.project, old.cli.home, program=checkout / "bin" / "rewind")
    for command in (["list"], ["save"], ["undo"], ["restore", "last"]):
        result = program.run(*command)
        assert result.code not in (0, 70) and result.out == ""
        errors = [text for text in result.err.splitlines() if not text.startswith("hint: ")]
        assert len(errors) == 1 and "newer" in errors[0], result


@pytest.mark.parametrize("command", [["list"], ["save"], ["undo"], ["undo-restore"], ["restore", "last"]])
def test_a_store_with_a_future_format_is_refused(line: Line, command: list[str]) -> None:
    path = line.cli.state / "store.json"
    data = json.loads(path.read_text())
    data.pop("check", None)
    path.write_text(json.dumps({**data, "format": 99}))
    result = line.cli.run(*command)
    errors = [text for text in result.err.splitlines() if text.startswith("error: ")]
    assert result.code not in (0, 70) and len(errors) == 1
    assert line.text == "C"
