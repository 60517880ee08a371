"""One directory by two spellings, as on a file system that ignores case: one project, whoever calls it what.

A real file system of that kind is tried where there is one (macOS), or the system can mount one (ext4 or
tmpfs with `casefold`). A bind mount of `Foo` at `foo` is tried beside it: to a program it looks the same, two
paths that lead to one directory and that no `realpath` turns into one another.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hook_scene import entry_command, run_hook
from make_transcripts import ClaudeTalk, place
from rewind_cli import Rewind, git

pytestmark = pytest.mark.slow


def _mount(*arguments: object) -> bool:
    try:
        return subprocess.run(["mount", *map(str, arguments)], capture_output=True).returncode == 0
    except OSError:
        return False


def _ignores_case(at: Path) -> bool:
    (at / "Probe").mkdir()
    found = (at / "probe").exists()
    (at / "Probe").rmdir()
    return found


def _casefold_tmpfs(at: Path) -> bool:
    return _mount("-t", "tmpfs", "-o", "casefold", "tmpfs", at)


def _casefold_ext4(at: Path) -> bool:
    image = at.parent / "casefold.img"
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    try:
        made = subprocess.run(["mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8", str(image)],
                              capture_output=True).returncode == 0
    except OSError:
        return False
    return made and _mount("-o", "loop", image, at)


@pytest.fixture(params=["casefold", "bind"])
def spelled(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[tuple[Rewind, Rewind]]:
    """The same project as `Foo` and as `foo`."""
    at = tmp_path / "p"
    at.mkdir()
    mounted = [at]
    try:
        if request.param == "casefold" and _ignores_case(at):
            mounted.clear()
            (at / "Foo").mkdir()
        elif request.param == "casefold":
            if not (_casefold_tmpfs(at) or _casefold_ext4(at)):
                mounted.clear()
                pytest.skip("NOT TRIED: this system mounts no file system that ignores case")
            (at / "both").mkdir()
            subprocess.run(["chattr", "+F", str(at / "both")], check=True)
            (at / "both" / "Foo").mkdir()
            at = at / "both"
        else:
            (at / "Foo").mkdir()
            (at / "foo").mkdir()
            mounted = [at / "foo"]
            if not _mount("--bind", at / "Foo", at / "foo"):
                mounted.clear()
                pytest.skip("NOT TRIED: nothing can be mounted here")
        assert os.path.samefile(at / "Foo", at / "foo")
        (at / "Foo" / "a.txt").write_text("one\n")
        yield Rewind(at / "Foo", home), Rewind(at / "foo", home)
    finally:
        for path in mounted:
            subprocess.run(["umount", str(path)], check=True)


def stores(rewind: Rewind) -> int:
    return len(json.loads((rewind.home / ".rewind" / "known-stores.json").read_text())["stores"])


def prompt(rewind: Rewind, text: str) -> None:
    payload = {"session_id": "s-1", "cwd": str(rewind.project), "hook_event_name": "UserPromptSubmit",
               "transcript_path": str(rewind.home / ".claude/projects/-p/s-1.jsonl"), "prompt": text,
               "prompt_id": text}
    done = run_hook(entry_command("user-prompt-submit"), json.dumps(payload).encode(), rewind.home,
                    rewind.project, CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(rewind.project))
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
@pytest.mark.parametrize("mode", ["global", "project"])
def test_two_spellings_are_one_project(spelled: tuple[Rewind, Rewind], mode: str, with_git: bool) -> None:
    one, other = spelled
    if with_git:
        git(one.project, "init", "-q", home=one.home)
    one.init(mode)
    (one.project / "a.txt").write_text("two\n")
    name = other.save("by the other spelling")
    assert one.names()[0] == name and one.names() == other.names()
    assert [r.run("list").err for r in (one, other)] == ["", ""], "nobody is told of a move or a copy"
    assert stores(one) == 1
    other.ok("restore", one.names()[-1], "--code-only")
    assert (one.project / "a.txt").read_text() == "one\n"
    one.ok("undo-restore")
    assert (other.project / "a.txt").read_text() == "two\n"


def test_hooks_by_either_spelling_have_one_store_and_one_line(spelled: tuple[Rewind, Rewind]) -> None:
    one, other = spelled
    git(one.project, "init", "-q", home=one.home)
    for number, rewind in enumerate((one, other, one, other)):
        (one.project / "a.txt").write_text(f"{number}\n")
        prompt(rewind, f"prompt {number}")
    assert stores(one) == 1
    made = one.json("list")["checkpoints"]
    assert [c["trigger"].get("promptId") for c in made[:4]] == [f"prompt {n}" for n in (3, 2, 1, 0)]
    assert all(later["parent"] == earlier["name"] for later, earlier in zip(made, made[1:]))


def test_a_work_tree_of_either_spelling_is_a_place_of_the_one_project(
        spelled: tuple[Rewind, Rewind], tmp_path: Path) -> None:
    one, other = spelled
    git(one.project, "init", "-q", home=one.home)
    git(one.project, "add", "-A", home=one.home)
    git(one.project, "commit", "-qm", "one", home=one.home)
    one.init()
    for rewind, name in ((one, "first"), (other, "second")):
        git(rewind.project, "worktree", "add", "-q", str(tmp_path / name), home=one.home)
        tree = Rewind(tmp_path / name, one.home)
        tree.save(f"in the {name}")
        assert tree.json("list")["checkpoints"][0]["place"] == name
    assert stores(one) == 1


def test_a_session_that_began_by_one_spelling_is_found_by_the_other(spelled: tuple[Rewind, Rewind]) -> None:
    one, other = spelled
    one.init()
    other.save("by the other spelling")
    talk = ClaudeTalk()
    talk.turn("hello")
    data = talk.bytes().replace(b"/home/dev/proj", os.fsencode(other.project))
    place(one.home, "claude", other.project, data, talk.session)
    for rewind in spelled:
        assert [s["session_id"] for s in rewind.json("sessions", "list")["sessions"]] == [talk.session]
