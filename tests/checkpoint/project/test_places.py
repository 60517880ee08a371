"""Work trees of one repository: each has its own line, sessions and memory; they share one store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import InProcess, cli  # noqa: F401
from hook_scene import entry_command, run_hook
from rewind.controller import Controller
from rewind.errors import TurnRunning
from rewind.paths import Project, find_project
from rewind_cli import git, tree_state

pytestmark = pytest.mark.slow

INSIDE = ".claude/worktrees/feat"


class Repository:
    """A protected repository with a linked work tree inside and one beside it."""

    def __init__(self, cli: InProcess) -> None:  # noqa: F811
        self.cli = cli
        self.main = cli.project
        (self.main / "src").mkdir()
        self.write(self.main, "as committed")
        git(self.main, "init", "-q", home=cli.home)
        git(self.main, "add", "-A", home=cli.home)
        git(self.main, "commit", "-qm", "one", home=cli.home)
        cli.ok("init")
        self.inside = self.main / INSIDE
        self.beside = self.main.parent / "beside"
        for tree in (self.inside, self.beside):
            git(self.main, "worktree", "add", "-q", str(tree), home=cli.home)

    @property
    def trees(self) -> tuple[Path, ...]:
        return self.main, self.inside, self.beside

    def write(self, tree: Path, text: str) -> None:
        (tree / "src" / "a.py").write_text(text)

    def read(self, tree: Path) -> str:
        return (tree / "src" / "a.py").read_text()

    def project(self, start: Path) -> Project:
        found = find_project(str(start), str(self.cli.home / ".rewind"))
        assert found
        return found

    def run(self, tree: Path, *args: str) -> dict[str, Any]:
        result = self.cli.run(*args, "--json", cwd=tree)
        assert result.code == 0, (args, result)
        return result.data

    def save(self, tree: Path, text: str) -> str:
        self.write(tree, text)
        return str(self.run(tree, "save", text)["checkpoint"])

    def names(self, tree: Path, *more: str) -> list[str]:
        return [c["name"] for c in self.run(tree, "list", *more)["checkpoints"]]

    def hook(self, tree: Path, action: str, session: str = "s-1", **fields: Any) -> Any:
        event = "".join(word.title() for word in action.split("-"))
        payload = {"session_id": session, "cwd": str(tree), "hook_event_name": event, "transcript_path":
                   str(self.cli.home / ".claude/projects/-p" / f"{session}.jsonl"), **fields}
        done = run_hook(entry_command(action), json.dumps(payload).encode(), self.cli.home, tree,
                        CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(self.main), CLAUDE_PID=str(os.getpid()))
        assert (done.code, done.err) == (0, "")
        return done


@pytest.fixture
def repository(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:  # noqa: F811
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    yield Repository(cli)


def test_a_work_tree_is_a_place_of_the_main_ones_project(repository: Repository) -> None:
    main = repository.project(repository.main)
    for tree, name in ((repository.inside, "feat"), (repository.beside, "beside")):
        place = repository.project(tree / "src")
        assert (place.root, place.state, place.place) == (str(tree), main.state, name)
        assert place.main == str(repository.main)


def test_a_project_in_a_part_of_the_repository_has_that_part_of_each_work_tree(
        cli: InProcess) -> None:  # noqa: F811
    top = cli.project
    (top / "sub" / "deep").mkdir(parents=True)
    (top / "sub" / "deep" / "a").write_text("a")
    git(top, "init", "-q", home=cli.home)
    git(top, "add", "-A", home=cli.home)
    git(top, "commit", "-qm", "one", home=cli.home)
    assert cli.run("init", cwd=top / "sub").code == 0
    tree = top.parent / "tree"
    git(top, "worktree", "add", "-q", str(tree), home=cli.home)
    found = find_project(str(tree / "sub" / "deep"), str(cli.home / ".rewind"))
    assert found and (found.root, found.main, found.place) == (str(tree / "sub"), str(top / "sub"), "tree")
    assert find_project(str(tree), str(cli.home / ".rewind")) is None


def test_each_place_lists_its_own_and_all_lists_all(repository: Repository) -> None:
    made = {tree: repository.save(tree, f"in {tree.name}") for tree in repository.trees}
    for tree in (repository.inside, repository.beside):
        assert repository.names(tree) == [made[tree]]
        assert repository.run(tree, "list")["here"] == made[tree]
    assert made[repository.main] in repository.names(repository.main)
    assert not {made[repository.inside], made[repository.beside]} & set(repository.names(repository.main))
    assert set(made.values()) <= set(repository.names(repository.inside, "--all"))


def test_a_checkpoint_of_the_main_tree_holds_nothing_of_a_work_tree_in_it(repository: Repository) -> None:
    name = repository.save(repository.main, "main")
    repository.run(repository.main, "restore", name, "--to", str(repository.main.parent / "out"))
    assert not (repository.main.parent / "out" / INSIDE).exists()


def test_a_restore_touches_only_its_own_place(repository: Repository) -> None:
    first = {tree: repository.save(tree, f"first in {tree.name}") for tree in repository.trees}
    for tree in repository.trees:
        repository.save(tree, f"second in {tree.name}")
    for tree in repository.trees:
        others = {other: tree_state(other / "src") for other in repository.trees if other != tree}
        repository.run(tree, "restore", first[tree], "--code-only")
        assert repository.read(tree) == f"first in {tree.name}"
        assert {other: tree_state(other / "src") for other in others} == others


def test_a_checkpoint_of_before_there_were_places_does_not_write_into_one(
        repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier version captured the files of a work tree with the main one."""
    (repository.main / ".rewindignore").write_text("!.claude/worktrees\n")
    with monkeypatch.context() as patch:
        patch.setattr("rewind.snapshot.rules.gitfiles.work_trees", lambda top: [])
        name = repository.save(repository.main, "main")
    assert "feat/src/a.py" in repository.cli.run("show", name, "--files", cwd=repository.main).out
    repository.write(repository.inside, "the agent's work")
    repository.write(repository.main, "later")
    repository.cli.run("restore", name, "--code-only", "--force", cwd=repository.main)
    assert repository.read(repository.main) == "main"
    assert repository.read(repository.inside) == "the agent's work"


def test_undo_restore_is_about_the_steps_of_this_place(repository: Repository) -> None:
    first = {tree: repository.save(tree, f"first in {tree.name}") for tree in repository.trees}
    for tree in repository.trees:
        repository.save(tree, f"second in {tree.name}")
        repository.run(tree, "restore", first[tree], "--code-only")
    repository.run(repository.inside, "undo-restore")
    assert [repository.read(tree) for tree in repository.trees] == [
        f"first in {repository.main.name}", "second in feat", "first in beside"]
    assert repository.cli.run("undo-restore", cwd=repository.inside).code == 12
    assert len(repository.run(repository.inside, "ops")["operations"]) == 2


def test_here_of_a_place_is_not_moved_by_another(repository: Repository) -> None:
    first = repository.save(repository.inside, "first")
    repository.save(repository.inside, "second")
    repository.run(repository.inside, "restore", first, "--code-only")
    main = repository.save(repository.main, "main")
    repository.run(repository.main, "restore", main, "--code-only")
    assert repository.run(repository.inside, "list")["here"] == first
    child = repository.save(repository.inside, "third")
    shown = repository.run(repository.inside, "list", "--all")["checkpoints"]
    assert next(c for c in shown if c["name"] == child)["parent"] == first


def test_last_means_the_last_of_this_place(repository: Repository) -> None:
    repository.save(repository.inside, "kept")
    repository.save(repository.main, "main's")
    repository.write(repository.inside, "spoiled")
    repository.run(repository.inside, "restore", "last", "--code-only", "--force")
    assert repository.read(repository.inside) == "kept"


def test_an_event_is_about_the_work_tree_that_the_agent_is_in(repository: Repository) -> None:
    """With EnterWorktree the agent's project variable stays that of the main tree."""
    for tree in (repository.inside, repository.beside):
        repository.hook(tree, "user-prompt-submit", prompt="Do it", prompt_id=f"p-{tree.name}")
        repository.write(tree, "the agent's work")
        repository.hook(tree, "stop", prompt_id=f"p-{tree.name}")
        assert len(repository.names(tree)) == 2
        place = repository.project(tree)
        assert json.loads(Path(place.own("session.json")).read_text())["session_id"] == "s-1"
    assert len(repository.names(repository.main)) == 1
    assert not os.path.exists(repository.project(repository.main).own("session.json"))


def test_a_turn_that_runs_in_one_place_does_not_hold_up_a_restore_in_another(repository: Repository) -> None:
    name = repository.save(repository.main, "main")
    repository.write(repository.main, "later")
    repository.hook(repository.inside, "session-start", source="startup")
    repository.hook(repository.inside, "user-prompt-submit", prompt="Work", prompt_id="p-1")
    repository.run(repository.main, "restore", name, "--code-only")
    assert repository.read(repository.main) == "main"
    controller = Controller(str(repository.inside))
    with pytest.raises(TurnRunning):
        controller.restore(repository.names(repository.inside)[0])
    controller.close()


def test_what_a_place_stands_on_is_never_collected(repository: Repository) -> None:
    first = repository.save(repository.inside, "first")
    for number in range(3):
        repository.save(repository.main, f"main {number}")
    controller = Controller(str(repository.main))
    kept = controller.gc(0)
    controller.close()
    assert first not in kept.deleted and repository.names(repository.inside) == [first]


def test_after_a_collection_a_place_stores_again_what_was_deleted(repository: Repository) -> None:
    """Its scan cache must not count on objects that are gone."""
    spoiled = repository.save(repository.inside, "only here")
    repository.write(repository.inside, "something else")
    repository.save(repository.inside, "something else")
    controller = Controller(str(repository.main))
    assert spoiled in controller.gc(0).deleted
    controller.close()
    name = repository.save(repository.inside, "only here")
    assert repository.cli.run("validate", "--deep", cwd=repository.inside).code == 0
    repository.write(repository.inside, "x")
    repository.run(repository.inside, "restore", name, "--code-only", "--force")
    assert repository.read(repository.inside) == "only here"


def test_a_work_tree_that_is_gone_leaves_its_checkpoints(repository: Repository) -> None:
    name = repository.save(repository.inside, "worth keeping")
    git(repository.main, "worktree", "remove", "--force", str(repository.inside), home=repository.cli.home)
    out = repository.main.parent / "out"
    repository.run(repository.main, "restore", name, "--to", str(out))
    assert repository.read(out) == "worth keeping"


def test_a_copy_of_a_work_tree_is_a_place_of_its_own(repository: Repository) -> None:
    copy = repository.main.parent / "copy"
    shutil.copytree(repository.inside, copy)
    assert repository.project(copy).place.startswith("feat-")
    assert repository.project(repository.inside).place == "feat"


def test_a_work_tree_that_was_moved_is_the_same_place(repository: Repository) -> None:
    name = repository.save(repository.beside, "before")
    moved = repository.main.parent / "moved"
    git(repository.main, "worktree", "move", str(repository.beside), str(moved), home=repository.cli.home)
    assert repository.project(moved).place == "beside" and repository.names(moved) == [name]


def test_a_submodule_is_part_of_what_is_around_it(repository: Repository) -> None:
    other = repository.main.parent / "other"
    other.mkdir()
    git(other, "init", "-q", home=repository.cli.home)
    git(other, "commit", "-q", "--allow-empty", "-m", "one", home=repository.cli.home)
    git(repository.main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub",
        home=repository.cli.home)
    found = repository.project(repository.main / "sub")
    assert (found.root, found.place) == (str(repository.main), "main")


def test_the_work_trees_of_a_bare_repository_share_a_store(
        cli: InProcess, repository: Repository) -> None:  # noqa: F811
    bare = repository.main.parent / "bare.git"
    git(repository.main, "clone", "-q", "--bare", str(repository.main), str(bare), home=cli.home)
    one, two = repository.main.parent / "one", repository.main.parent / "two"
    git(bare, "worktree", "add", "-q", "-b", "b1", str(one), home=cli.home)
    git(bare, "worktree", "add", "-q", "-b", "b2", str(two), home=cli.home)
    assert cli.run("init", "--mode", "global", cwd=one).code == 0
    assert repository.project(one).state == repository.project(two).state
    assert {repository.project(one).place, repository.project(two).place} == {"one", "two"}


def test_the_session_of_a_work_tree_is_not_the_main_ones(repository: Repository) -> None:
    from make_transcripts import ClaudeTalk

    folder = repository.cli.home / ".claude/projects"
    # As Claude Code 2.1.325 leaves it: at the end of a --worktree session the file goes to the main folder.
    slug = folder / "".join(c if c.isalnum() else "-" for c in str(repository.main))
    slug.mkdir(parents=True)
    for session, tree in (("11111111-0000-4000-8000-000000000000", repository.main),
                          ("22222222-0000-4000-8000-000000000000", repository.inside)):
        talk = ClaudeTalk(session)
        talk.turn("Hello")
        lines = [{**json.loads(line), "cwd": str(tree)} for line in talk.lines]
        (slug / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for tree, begin in ((repository.main, "1111"), (repository.inside, "2222")):
        shown = repository.run(tree, "sessions", "list")["sessions"]
        assert [s["session_id"][:4] for s in shown] == [begin]


def test_many_hooks_at_once_over_all_places_lose_and_mix_nothing(repository: Repository) -> None:
    """Each event has its checkpoint, in its own place and with its own file, however busy the machine is."""
    for tree in repository.trees:
        repository.save(tree, "before")
    started = [_start(repository, number) for number in range(60)]
    assert [process.wait() for process in started] == [0] * 60
    for place, tree in enumerate(repository.trees):
        while repository.run(tree, "list")["late"]:  # each ends within a minute, made or missed
            time.sleep(0.1)
        records = repository.run(tree, "list")["checkpoints"]
        made = [c["trigger"]["promptId"] for c in records if c["trigger"].get("event") == "UserPromptSubmit"]
        assert sorted(made) == sorted(f"p-{number}" for number in range(place, 60, 3))
        memory = json.loads(Path(repository.project(tree).own("hook-state.json")).read_text())
        assert memory["missed"] == []
        assert {c["place"] for c in records} == {repository.project(tree).place}
    assert repository.run(repository.main, "validate", "--deep")["ok"] is True


def _start(repository: Repository, number: int) -> subprocess.Popen[bytes]:
    tree = repository.trees[number % 3]
    (tree / f"file-{number}").write_text(f"of {number}")
    payload = {"session_id": f"s-{number % 3}", "cwd": str(tree), "hook_event_name": "UserPromptSubmit",
               "prompt": "Go on", "prompt_id": f"p-{number}",
               "transcript_path": str(repository.cli.home / f".claude/projects/-p/s-{number % 3}.jsonl")}
    process = subprocess.Popen([str(part) for part in entry_command("user-prompt-submit")], cwd=tree,
                               env={**repository.cli.env, "CLAUDECODE": "1"}, stdin=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    return process


def test_a_work_tree_in_an_ignored_directory_does_not_count_as_content_of_it(repository: Repository) -> None:
    """What else lies there is small, and captured, however large the work tree beside it is."""
    (repository.main / ".gitignore").write_text("/trees\n")
    tree, mine = repository.main / "trees" / "third", repository.main / "trees" / "mine.txt"
    git(repository.main, "worktree", "add", "-q", str(tree), home=repository.cli.home)
    mine.write_text("mine\n")
    for number in range(600):  # over the limit for an ignored directory
        (tree / f"{number}.txt").write_text("x")
    name = repository.save(repository.main, "with it")
    mine.write_text("changed\n")
    repository.run(repository.main, "restore", name, "--code-only", "--force")
    assert mine.read_text() == "mine\n" and len(list(tree.glob("*.txt"))) == 600
