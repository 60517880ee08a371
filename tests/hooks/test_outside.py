"""Files outside the project that an agent edits: kept, shown, brought back when asked, never shared."""

from __future__ import annotations

import json
import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hook_scene import LONG, Hooks
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records import outside
from rewind.checkpoint.records.record import Record
from rewind.cli.main import main
from rewind.controller import AtCheckpoint, BeforePrompts, Controller
from rewind.errors import ChangedSincePlan, UsageError
from rewind.hooks.already_saved import outside_files_to_keep
from rewind.paths import Project


@pytest.fixture
def shell_rc(hooks: Hooks) -> Path:
    """`~/.zshrc`, as it was before the agent came."""
    path = hooks.home / ".zshrc"
    path.write_text("alias ll='ls -l'\n")
    path.chmod(0o640)
    return path


@contextmanager
def opened(hooks: Hooks) -> Iterator[Controller]:
    controller = Controller(str(hooks.project), home=str(hooks.rewind_home))
    try:
        yield controller
    finally:
        controller.close()


def edit(hooks: Hooks, path: Path, text: str | None) -> None:
    """The agent's tool: the hook first, then the file. Without a text, it deletes it."""
    hooks.tool("Write", {"file_path": str(path), "content": LONG})
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def kept(record: Record) -> dict[str, Any]:
    return {entry["path"]: entry for entry in record.data.get("outside", ())}


# keeping

def test_what_a_file_held_before_is_kept_with_the_hooks_checkpoint(hooks: Hooks, shell_rc: Path) -> None:
    hooks.prompt("Add an alias")
    edit(hooks, shell_rc, "broken\n")
    entry = kept(hooks.last())[str(shell_rc)]
    assert (entry["mode"], entry["size"]) == (0o640, 17) and len(entry["ref"]) == 64
    assert len(hooks.last().data["madeBy"]) == 32


def test_a_file_that_was_not_there_is_kept_as_absent(hooks: Hooks) -> None:
    edit(hooks, hooks.home / "new" / "notes.txt", "x\n")
    assert kept(hooks.last()) == {str(hooks.home / "new" / "notes.txt"): {
        "path": str(hooks.home / "new" / "notes.txt"), "absent": True}}


def test_anti_spam_and_significance_do_not_hold_back_the_first_edit(hooks: Hooks, shell_rc: Path) -> None:
    hooks.prompt()
    count = hooks.count()
    hooks.tool("Edit", {"file_path": str(shell_rc), "old_string": "a", "new_string": "b"})
    assert hooks.count() == count + 1 and str(shell_rc) in kept(hooks.last())
    hooks.tool("Edit", {"file_path": str(shell_rc), "old_string": "b", "new_string": "c"})
    assert hooks.count() == count + 1  # nothing came between: the first one has what matters


def test_after_another_checkpoint_the_next_edit_is_kept_again(hooks: Hooks, shell_rc: Path) -> None:
    edit(hooks, shell_rc, "one\n")
    hooks.prompt("Again")
    edit(hooks, shell_rc, "two\n")
    assert kept(hooks.last())[str(shell_rc)]["size"] == 4


def test_an_edit_in_the_project_keeps_nothing_outside(hooks: Hooks) -> None:
    hooks.edit("a.txt")
    assert not any("outside" in record.data or "madeBy" in record.data for record in hooks.records())


def test_a_link_is_followed_to_the_file_that_is_edited(hooks: Hooks, shell_rc: Path) -> None:
    (hooks.project / "rc").symlink_to(shell_rc)
    edit(hooks, hooks.project / "rc", "x\n")
    assert list(kept(hooks.last())) == [str(shell_rc)]


def test_a_link_that_leads_into_the_project_is_a_file_of_the_project(hooks: Hooks) -> None:
    (hooks.home / "link").symlink_to(hooks.project / "a.txt")
    hooks.tool("Write", {"file_path": str(hooks.home / "link"), "content": LONG})
    assert kept(hooks.last()) == {}


def test_neither_rewinds_own_files_nor_the_systems_are_read(hooks: Hooks) -> None:
    hooks.configure(protect=False)
    (hooks.home / "way-in").symlink_to(hooks.rewind_home)
    for path in ("/proc/self/environ", "/dev/null", "/sys/kernel/x", str(hooks.rewind_home / "config.json"),
                 str(hooks.state / "store.json"), str(hooks.home / "way-in" / "config.json"),
                 str(hooks.home / "other" / ".agent" / "rewind" / "objects.db")):
        hooks.tool("Write", {"file_path": path, "content": LONG})
    assert all(not kept(record) for record in hooks.records())


def test_a_file_of_another_user_is_not_read(hooks: Hooks, shell_rc: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    assert outside.read_outside_file(os.fsencode(shell_rc)).skipped == "not-yours"
    project = Project(str(hooks.project), str(hooks.state), str(hooks.rewind_home))
    assert outside_files_to_keep(project, [str(shell_rc)], anyway=True) == []


def test_what_is_too_large_or_no_file_is_named_and_not_kept(hooks: Hooks) -> None:
    hooks.configure(maxFileSizeMb=1)
    large = hooks.home / "large"
    large.write_bytes(b"x" * (2 << 20))
    os.mkfifo(hooks.home / "pipe")
    for path in (large, hooks.home / "pipe"):
        hooks.tool("Write", {"file_path": str(path), "content": LONG})
        assert set(kept(hooks.last())[str(path)]) == {"path", "skipped"}
        hooks.prompt()


def test_a_name_that_is_no_text_is_kept_and_brought_back(hooks: Hooks) -> None:
    path = Path(os.fsdecode(os.fsencode(hooks.home) + b"/odd-\xff\xfe"))
    try:
        path.write_text("before")
    except OSError:
        pytest.skip("this file system takes only text as a name")
    before = hooks.last().name
    edit(hooks, path, "after")
    with opened(hooks) as controller:
        controller.go(AtCheckpoint(before), "code", outside=True)
    assert path.read_text() == "before"


# bringing back

def test_without_the_option_they_stay_and_one_line_says_so(hooks: Hooks, shell_rc: Path) -> None:
    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    edit(hooks, hooks.home / "new.txt", "new\n")
    with opened(hooks) as controller:
        plan = controller.plan(AtCheckpoint(before), "code")
        outcome = controller.go(AtCheckpoint(before), "code")
    line = "2 files outside the project stay as they are: --outside brings them back"
    assert line in plan.notes and line in outcome.notes and plan.outside == []
    assert shell_rc.read_text() == "broken\n" and (hooks.home / "new.txt").exists()


def test_with_it_they_come_back_and_undo_restore_takes_that_back(hooks: Hooks, shell_rc: Path) -> None:
    before, new = hooks.last().name, hooks.home / "new.txt"
    edit(hooks, shell_rc, "broken\n")
    edit(hooks, new, "new\n")
    shell_rc.chmod(0o600)
    with opened(hooks) as controller:
        plan = controller.plan(AtCheckpoint(before), "code", outside=True)
        assert plan.outside == [("~", os.fsencode(shell_rc)), ("-", os.fsencode(new))]
        controller.apply(plan)
        assert shell_rc.read_text() == "alias ll='ls -l'\n" and not new.exists()
        assert stat.S_IMODE(shell_rc.stat().st_mode) == 0o640
        controller.undo_restore()
        assert shell_rc.read_text() == "broken\n" and new.read_text() == "new\n"
        assert stat.S_IMODE(shell_rc.stat().st_mode) == 0o600
        controller.redo()
        assert shell_rc.read_text() == "alias ll='ls -l'\n" and not new.exists()
        controller.undo_restore()
        assert shell_rc.read_text() == "broken\n" and new.read_text() == "new\n"
        assert controller.examine(deep=True).problems == []


def test_each_turn_has_the_file_as_it_was_before_that_turn(hooks: Hooks, shell_rc: Path) -> None:
    hooks.talk("Zero")
    hooks.prompt("One")
    edit(hooks, shell_rc, "one\n")
    hooks.talk("Zero", "One")
    hooks.stop()
    hooks.prompt("Two")
    two = hooks.last().name
    edit(hooks, shell_rc, "two\n")
    hooks.talk("Zero", "One", "Two")
    hooks.stop()
    after = hooks.last().name
    with opened(hooks) as controller:
        assert controller.plan(AtCheckpoint(after), "code", outside=True).outside == []
        controller.go(AtCheckpoint(two), "code", outside=True)
        assert shell_rc.read_text() == "one\n"
        controller.go(AtCheckpoint(after), "code", outside=True)
        assert shell_rc.read_text() == "two\n"
        assert controller.go(BeforePrompts(2), "both", outside=True, force=True).conversation
        assert shell_rc.read_text() == "alias ll='ls -l'\n"


def test_what_a_person_wrote_since_is_in_the_backup(hooks: Hooks, shell_rc: Path) -> None:
    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    shell_rc.write_text("mended by hand\n")
    with opened(hooks) as controller:
        outcome = controller.go(AtCheckpoint(before), "code", outside=True)
        assert outcome.backup and str(shell_rc) in kept(outcome.backup)
        shell_rc.write_text("written again\n")
        controller.undo_restore()
        assert shell_rc.read_text() == "mended by hand\n"
        controller.redo()
        assert shell_rc.read_text() == "written again\n"


def test_a_plan_that_was_shown_is_refused_once_the_file_changed(hooks: Hooks, shell_rc: Path) -> None:
    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    with opened(hooks) as controller:
        plan = controller.plan(AtCheckpoint(before), "code", outside=True)
        shell_rc.write_text("changed meanwhile\n")
        with pytest.raises(ChangedSincePlan):
            controller.apply(plan)
    assert shell_rc.read_text() == "changed meanwhile\n"


def test_a_killed_restore_is_finished_or_undone(hooks: Hooks, shell_rc: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.checkpoint.rewind.effects.outside import OutsideFiles

    def killed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    for finish in (True, False):
        with opened(hooks) as controller, monkeypatch.context() as patch:
            patch.setattr(OutsideFiles, "do", killed)
            with pytest.raises(KeyboardInterrupt):
                controller.go(AtCheckpoint(before), "code", outside=True)
        with opened(hooks) as controller:
            if finish:
                controller.go(AtCheckpoint(before), "code", outside=True)
                assert shell_rc.read_text() == "alias ll='ls -l'\n"
            controller.undo_restore()
            assert shell_rc.read_text() == "broken\n"


def test_nothing_is_written_for_another_user_or_machine(hooks: Hooks, shell_rc: Path) -> None:
    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    (hooks.rewind_home / "machine-id").write_text("another")
    with opened(hooks) as controller:
        outcome = controller.go(AtCheckpoint(before), "code", outside=True)
    assert shell_rc.read_text() == "broken\n" and outcome.outside == []
    assert any("another machine" in note for note in outcome.notes)


def test_nor_is_an_operation_of_another_machine_undone_there(hooks: Hooks, shell_rc: Path) -> None:
    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    with opened(hooks) as controller:
        controller.go(AtCheckpoint(before), "code", outside=True)
        (hooks.rewind_home / "machine-id").write_text("another")
        outcome = controller.undo_restore()
    assert shell_rc.read_text() == "alias ll='ls -l'\n" and not outcome.complete


def test_a_link_that_came_since_is_not_followed(hooks: Hooks, tmp_path: Path) -> None:
    folder, elsewhere = hooks.home / "conf", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        place.mkdir()
        (place / "rc").write_text("before\n")
    before = hooks.last().name
    edit(hooks, folder / "rc", "after\n")
    (folder / "rc").unlink()
    folder.rmdir()
    folder.symlink_to(elsewhere)
    (elsewhere / "rc").write_text("mine\n")
    with opened(hooks) as controller:
        outcome = controller.go(AtCheckpoint(before), "code", outside=True)
    assert (elsewhere / "rc").read_text() == "mine\n" and not outcome.complete


def test_a_directory_that_is_gone_is_said(hooks: Hooks) -> None:
    path = hooks.home / "conf" / "rc"
    path.parent.mkdir()
    path.write_text("before\n")
    before = hooks.last().name
    edit(hooks, path, None)
    path.parent.rmdir()
    with opened(hooks) as controller:
        outcome = controller.go(AtCheckpoint(before), "code", outside=True)
    assert not outcome.complete and any("its directory is gone" in note for note in outcome.notes)


def test_some_paths_or_the_conversation_alone_bring_nothing_outside(hooks: Hooks) -> None:
    with opened(hooks) as controller:
        with pytest.raises(UsageError):
            controller.plan(AtCheckpoint("last", [b"a.txt"]), "code", outside=True)
        with pytest.raises(UsageError):
            controller.plan(AtCheckpoint("last"), "conversation", outside=True)


# the store

def test_a_collection_keeps_their_content_and_hands_it_down(hooks: Hooks, shell_rc: Path) -> None:
    """A checkpoint that goes leaves what it kept to the one before it, for which it holds as well."""
    first = hooks.last().name
    edit(hooks, shell_rc, "one\n")
    going = hooks.last().name
    for number in range(3):
        hooks.prompt(f"Prompt {number}")
    with opened(hooks) as controller:
        from rewind.checkpoint.upkeep import collection

        chosen = [controller.find(going)]
        original, collection.choose = collection.choose, lambda state, keep: chosen
        try:
            assert controller.gc().deleted == [going]
        finally:
            collection.choose = original
        assert controller.examine(deep=True).problems == []
        controller.go(AtCheckpoint(first), "code", outside=True)
    assert shell_rc.read_text() == "alias ll='ls -l'\n"


def test_a_large_file_in_pieces_survives_a_collection(hooks: Hooks) -> None:
    large, content = hooks.home / "large", os.urandom(9 << 20)
    large.write_bytes(content)
    before = hooks.last().name
    edit(hooks, large, "small")
    assert kept(hooks.last())[str(large)]["pieces"] is True
    with opened(hooks) as controller:
        controller.gc()
        controller.go(AtCheckpoint(before), "code", outside=True)
    assert large.read_bytes() == content


def test_damage_to_their_content_is_found(hooks: Hooks, shell_rc: Path) -> None:
    edit(hooks, shell_rc, "x\n")
    with opened(hooks) as controller:
        ref = bytes.fromhex(kept(hooks.last())[str(shell_rc)]["ref"])
        controller.state.objects.delete([ref])
        controller.state.objects.commit()
        problems = [problem.text for problem in controller.examine(deep=True).problems]
    assert any(str(shell_rc) in text for text in problems)


def test_nothing_of_them_is_exported(hooks: Hooks, shell_rc: Path, tmp_path: Path) -> None:
    edit(hooks, shell_rc, "x\n")
    name = hooks.last().name
    with opened(hooks) as controller:
        controller.export(name, str(tmp_path / "out.tar.gz"))
    with tarfile.open(tmp_path / "out.tar.gz") as archive:
        for member in archive:
            data = archive.extractfile(member)
            text = data.read() if data else b""
            assert b"alias ll" not in text and b"madeBy" not in text and b'"outside"' not in text


def test_an_archive_in_the_store_has_them_beside_it(hooks: Hooks, shell_rc: Path) -> None:
    hooks.configure(storage={"format": "archive"})
    before = hooks.last().name
    edit(hooks, shell_rc, "x\n")
    assert hooks.last().format == "archive" and str(shell_rc) in kept(hooks.last())
    with opened(hooks) as controller:
        controller.gc()
        controller.go(AtCheckpoint(before), "code", outside=True)
    assert shell_rc.read_text() == "alias ll='ls -l'\n"


# the command line

def test_show_lists_them_and_restore_takes_the_option(hooks: Hooks, shell_rc: Path,
                                                     capsys: pytest.CaptureFixture[str],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hooks.project)
    before = hooks.last().name
    edit(hooks, shell_rc, "broken\n")
    edit(hooks, hooks.home / "new.txt", "new\n")

    init = State.__init__
    states: list[State] = []  # a process ends with its command; here somebody has to close them

    def noted(state: State, *arguments: Any, **more: Any) -> None:
        states.append(state)
        init(state, *arguments, **more)

    monkeypatch.setattr(State, "__init__", noted)

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main(list(words)) == 0
        while states:
            states.pop().close()
        return capsys.readouterr().out

    assert f"{shell_rc} (17 B)" in run("show", "prev")
    assert "new.txt (did not exist)" in run("show", "last")
    plan = run("restore", before, "--code-only", "--outside", "--dry-run")
    assert f"Outside the project:\n~ {shell_rc}\n- {hooks.home / 'new.txt'}\n" in plan
    found = json.loads(run("restore", before, "--code-only", "--outside", "--json"))
    assert [one["action"] for one in found["outside"]] == ["write", "delete"]
    assert shell_rc.read_text() == "alias ll='ls -l'\n"
