"""Whatever happens to a tree, `restore` brings it back and `undo-restore` brings the rest back.

One test per kind of damage, in a git repository with staged changes and in a plain directory.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from pathlib import Path

import pytest
from scene import Scene, make, pattern, remove

from rewind_cli import Rewind, chown_all, differences, git_state, paths_of, tree_state

pytestmark = pytest.mark.slow

ODD_NAMES = {
    "a-leading-dash": b"-rf",
    "two-dashes": b"--help",
    "a-newline": b"two\nlines",
    "a-colon": b"c:colon",
    "non-ascii": "größe-日本.txt".encode(),
    "decomposed-unicode": "e\u0301.txt".encode(),
    "non-utf8-bytes": b"\xff\xfe-latin\xe9",
    "spaces": b" leading and trailing ",
    "quotes-and-backslash": b"'q\"\\u",
    "glob-characters": b"*?[a]!{}",
    "hash-and-tilde": b"#~$HOME",
    "control-characters": b"\x01\x1b[31m\x7f\r",
    "dots": b"...",
    "the-longest": b"n" * 255,
    "looks-like-git": b".gitmodules",
    "looks-like-ours": b".agent-rewind",
}
if sys.platform == "darwin":
    del ODD_NAMES["non-utf8-bytes"], ODD_NAMES["decomposed-unicode"]


@pytest.fixture(params=["git", "plain"])
def scene(request: pytest.FixtureRequest, rewind: Rewind) -> Scene:
    return Scene(rewind, with_git=request.param == "git")


@pytest.fixture(params=["git", "plain"])
def big_scene(request: pytest.FixtureRequest, rewind: Rewind) -> Scene:
    """With one tracked file that is as large as `test_files_of_3_mb_come_back` says."""
    return Scene(rewind, with_git=request.param == "git", big=3_000_000)


@pytest.fixture
def git_scene(rewind: Rewind) -> Scene:
    return Scene(rewind, with_git=True)


# files

def test_edited_files_come_back(scene: Scene) -> None:
    scene.save()
    scene.put("src/main.py", "print('wrong')\n")
    scene.put("README.md", "")
    scene.put("untracked.txt", "overwritten\n")
    answer = scene.check_back_and_forth()
    assert paths_of(answer["written"]) == {b"src/main.py", b"README.md", b"untracked.txt"}
    assert answer["deleted"] == []


def test_an_edit_of_equal_length_and_mtime_is_still_seen(scene: Scene) -> None:
    file = scene.put("src/same.txt", "aaaa")
    scene.save()
    info = file.stat()
    file.write_text("bbbb")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    scene.check_back_and_forth()


def test_deleted_files_come_back(scene: Scene) -> None:
    scene.save()
    (scene.root / "src/old.py").unlink()
    (scene.root / "untracked.txt").unlink()
    shutil.rmtree(scene.root / "src/deep")
    scene.check_back_and_forth()


def test_everything_deleted_comes_back(scene: Scene) -> None:
    scene.save()
    for path in scene.root.iterdir():
        if path.name not in (".git", ".agent"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    scene.check_back_and_forth()


def test_new_files_are_gone(scene: Scene) -> None:
    scene.save()
    scene.put("new.txt", "new\n")
    scene.put("src/new/er/file.py", "new\n")
    answer = scene.check_back_and_forth()
    assert paths_of(answer["deleted"]) >= {b"new.txt", b"src/new/er/file.py"}


def test_a_renamed_file_and_a_renamed_directory_come_back(scene: Scene) -> None:
    scene.save()
    (scene.root / "README.md").rename(scene.root / "LIESMICH.md")
    (scene.root / "src").rename(scene.root / "lib")
    scene.check_back_and_forth()


def test_two_files_that_swapped_names_come_back(scene: Scene) -> None:
    scene.save()
    (scene.root / "README.md").rename(scene.root / "t")
    (scene.root / "untracked.txt").rename(scene.root / "README.md")
    (scene.root / "t").rename(scene.root / "untracked.txt")
    scene.check_back_and_forth()


def test_empty_files_come_back(scene: Scene) -> None:
    scene.put("empty-then")
    scene.put("filled-later")
    scene.save()
    (scene.root / "empty-then").unlink()
    scene.put("filled-later", "now full")
    scene.put("README.md")
    scene.check_back_and_forth()


def test_binaries_come_back(scene: Scene) -> None:
    scene.put("image.png", b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256)) * 50)
    scene.put("crlf.txt", b"a\r\nb\r\nc\n")
    scene.put(".gitattributes", "* text=auto eol=lf\n*.png filter=lfs\n")
    scene.save()
    scene.put("image.png", bytes(reversed(range(256))))
    scene.put("crlf.txt", b"a\nb\nc\n")
    scene.check_back_and_forth()


@pytest.mark.parametrize("name", ["big-tracked.bin", "big-untracked.bin"])
def test_files_of_3_mb_come_back(big_scene: Scene, name: str) -> None:
    big_scene.put("big-untracked.bin", pattern(3_000_000, 2))
    big_scene.save()
    big_scene.put(name, pattern(3_000_001, 3))
    big_scene.check_back_and_forth()


def test_a_file_of_many_chunks_comes_back(scene: Scene) -> None:
    content = bytearray(pattern(5_000_000, 4) + pattern(4 << 20, 5))
    scene.put("chunked.bin", bytes(content))
    scene.put("one-chunk-exactly.bin", bytes(content[:4 << 20]))
    scene.save()
    content[4_500_000] ^= 1
    scene.put("chunked.bin", bytes(content))
    scene.put("one-chunk-exactly.bin", bytes(content[:(4 << 20) + 1]))
    scene.check_back_and_forth()


def test_a_sparse_file_comes_back(scene: Scene) -> None:
    with open(scene.root / "sparse", "wb") as file:
        file.truncate(6_000_000)
    scene.save()
    with open(scene.root / "sparse", "r+b") as file:
        file.seek(5_999_999)
        file.write(b"x")
    scene.check_back_and_forth()


# what git ignores

def test_an_ignored_env_file_that_was_overwritten_comes_back(scene: Scene) -> None:
    scene.put(".env", "SECRET=then\n", 0o600)
    scene.save()
    scene.put(".env", "SECRET=\n")
    scene.check_back_and_forth()


def test_a_small_ignored_build_directory_that_was_removed_comes_back(scene: Scene) -> None:
    scene.put("build/out.js", "compiled\n")
    scene.put("build/sub/run", "#!/bin/sh\n", 0o755)
    scene.save()
    shutil.rmtree(scene.root / "build")
    scene.check_back_and_forth()


def test_ignored_newcomers_are_kept(scene: Scene) -> None:
    scene.save()
    scene.put("debug.log", "precious\n")
    scene.put("build/new.js", "precious\n")
    scene.put("src/main.py", "wrong\n")
    answer = scene.check_back_and_forth(kept=(b"debug.log", b"build", b"build/new.js"))
    assert b"debug.log" in paths_of(answer["kept"])
    assert all(item["reason"] for item in answer["kept"])


# symbolic links

def test_a_retargeted_symlink_comes_back(scene: Scene) -> None:
    (scene.root / "link").symlink_to("README.md")
    scene.save()
    (scene.root / "link").unlink()
    (scene.root / "link").symlink_to("src/main.py")
    scene.check_back_and_forth()


def test_a_dangling_symlink_comes_back(scene: Scene) -> None:
    (scene.root / "nowhere").symlink_to("does/not/exist")
    (scene.root / "loop").symlink_to("loop")
    (scene.root / "outside").symlink_to("/etc/hostname")
    os.symlink(b"bytes-\xff", os.path.join(os.fsencode(scene.root), b"to-bytes"))
    scene.save()
    for name in ("nowhere", "loop", "outside", "to-bytes"):
        (scene.root / name).unlink()
    scene.put("nowhere", "a file now\n")
    scene.check_back_and_forth()


def test_a_removed_symlink_comes_back_and_a_new_one_goes(scene: Scene) -> None:
    (scene.root / "link").symlink_to("README.md")
    scene.save()
    (scene.root / "link").unlink()
    (scene.root / "new-link").symlink_to("src")
    (scene.root / "new-dangling").symlink_to("nothing")
    scene.check_back_and_forth()


def test_a_symlink_to_a_directory_is_a_link_and_never_followed(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("not ours\n")
    (scene.root / "linked-dir").symlink_to("src")
    (scene.root / "linked-out").symlink_to(outside)
    scene.save()
    for name in ("linked-dir", "linked-out"):
        (scene.root / name).unlink()
        (scene.root / name).mkdir()
        scene.put(f"{name}/file", "a real directory now\n")
    scene.check_back_and_forth()
    assert (outside / "file").read_text() == "not ours\n"


def test_a_directory_replaced_by_a_symlink_is_not_written_through(
        scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(scene.root / "src", outside)
    (outside / "main.py").write_text("not ours\n")
    was = tree_state(outside)
    scene.save()
    shutil.rmtree(scene.root / "src")
    (scene.root / "src").symlink_to(outside)
    scene.check_back_and_forth()
    assert tree_state(outside) == was


# kinds that change

def test_a_file_that_became_a_directory_comes_back(scene: Scene) -> None:
    scene.save()
    (scene.root / "README.md").unlink()
    scene.put("README.md/deep/inside.txt", "x\n")
    (scene.root / "README.md/empty").mkdir()
    scene.check_back_and_forth()


def test_a_directory_that_became_a_file_comes_back(scene: Scene) -> None:
    scene.save()
    shutil.rmtree(scene.root / "src")
    scene.put("src", "a file now\n")
    scene.check_back_and_forth()


def test_a_new_file_named_like_the_journal_of_a_directory_is_gone(scene: Scene) -> None:
    """Only a database has journals: beside a directory or a link it is a file like any other."""
    (scene.root / "data.db").mkdir()
    (scene.root / "link.db").symlink_to("README.md")
    scene.save()
    scene.put("data.db-wal", "new\n")
    scene.put("link.db-journal", "new\n")
    scene.check_back_and_forth()


def test_an_empty_directory_that_became_a_symlink_and_a_link_that_became_a_file_come_back(
        scene: Scene) -> None:
    (scene.root / "hollow").mkdir()
    (scene.root / "link").symlink_to("hollow")
    scene.save()
    (scene.root / "hollow").rmdir()
    (scene.root / "hollow").symlink_to("README.md")
    (scene.root / "link").unlink()
    scene.put("link", "file\n")
    scene.check_back_and_forth()


# names

@pytest.mark.parametrize("name", ["a-leading-dash", "a-newline", "a-colon", "non-ascii",
                                  "non-utf8-bytes"])
def test_a_file_with_an_odd_name_comes_back(scene: Scene, name: str) -> None:
    if name not in ODD_NAMES:
        pytest.skip("this file system takes only UTF-8 names")
    _check_names(scene, [ODD_NAMES[name]])


def test_all_odd_names_together_come_back(scene: Scene) -> None:
    _check_names(scene, list(ODD_NAMES.values()))


def _check_names(scene: Scene, names: list[bytes]) -> None:
    for number, name in enumerate(names):
        make(scene.root, b"edited/" + name, b"then %d\n" % number)
        make(scene.root, b"deleted/" + name, b"then\n")
        make(scene.root, b"parents/" + name + b"/" + name, b"then\n")
    make(scene.root, names[0], b"at the top\n")
    scene.save()
    for name in names:
        make(scene.root, b"edited/" + name, b"now\n")
        remove(scene.root, b"deleted/" + name)
        make(scene.root, b"added/" + name, b"now\n")
        remove(scene.root, b"parents/" + name + b"/" + name)
        os.rmdir(os.path.join(os.fsencode(scene.root), b"parents", name))
    remove(scene.root, names[0])
    answer = scene.check_back_and_forth()
    assert {b"edited/" + n for n in names} <= paths_of(answer["written"])
    assert {b"added/" + n for n in names} <= paths_of(answer["deleted"])


def test_a_path_deeper_than_the_system_takes_at_once_comes_back(scene: Scene) -> None:
    deep = "/".join(["d" * 100] * 30)
    scene.put(deep + "/leaf", "then\n")
    scene.save()
    scene.put(deep + "/leaf", "now\n")
    scene.check_back_and_forth()


# directories

def test_empty_directories_that_were_removed_come_back(scene: Scene) -> None:
    (scene.root / "empty/nested/deeper").mkdir(parents=True)
    (scene.root / "src/hollow").mkdir()
    scene.save()
    shutil.rmtree(scene.root / "empty")
    (scene.root / "src/hollow").rmdir()
    scene.check_back_and_forth()


def test_empty_directories_that_were_added_are_gone(scene: Scene) -> None:
    scene.save()
    (scene.root / "added/nested").mkdir(parents=True)
    (scene.root / "src/added").mkdir()
    scene.check_back_and_forth()


def test_a_directory_that_was_filled_is_empty_again(scene: Scene) -> None:
    (scene.root / "hollow").mkdir()
    scene.save()
    scene.put("hollow/file", "x\n")
    scene.check_back_and_forth()


# modes

def test_the_mode_of_a_file_comes_back(scene: Scene) -> None:
    modes = (0o600, 0o755, 0o444, 0o4755)  # in the names, which a failure tells
    for mode in modes:
        scene.put(f"moded-{mode:o}", "content\n", mode)
        scene.put(f"rewritten-{mode:o}", "content\n", mode)
    scene.save()
    for mode in modes:
        (scene.root / f"moded-{mode:o}").chmod(0o664)
        (scene.root / f"rewritten-{mode:o}").unlink()
        scene.put(f"rewritten-{mode:o}", "other\n", 0o666)
    scene.check_back_and_forth()


def test_the_mode_of_a_directory_comes_back(scene: Scene) -> None:
    modes = (0o555, 0o700, 0o2775, 0o1777)
    names = [f"{kind}-{mode:o}" for mode in modes for kind in ("moded", "gone", "empty")]
    for mode in modes:
        scene.put(f"moded-{mode:o}/file", "then\n")
        scene.put(f"gone-{mode:o}/file", "then\n")
        (scene.root / f"empty-{mode:o}").mkdir()
    for name in names:
        (scene.root / name).chmod(int(name.rpartition("-")[2], 8))
    scene.save()
    for name in names:
        (scene.root / name).chmod(0o755)
    for mode in modes:
        shutil.rmtree(scene.root / f"gone-{mode:o}")
        scene.put(f"moded-{mode:o}/file", "now\n")
        scene.put(f"moded-{mode:o}/new", "now\n")
        (scene.root / f"moded-{mode:o}").chmod(0o750)
    scene.check_back_and_forth()


def test_an_executable_bit_alone_comes_back(scene: Scene) -> None:
    scene.put("run.sh", "#!/bin/sh\n", 0o755)
    scene.put("data.txt", "x\n", 0o644)
    scene.save()
    (scene.root / "run.sh").chmod(0o644)
    (scene.root / "data.txt").chmod(0o755)
    before = (scene.root / "run.sh").stat().st_mtime_ns
    scene.check_back_and_forth()
    scene.rewind.ok("restore", scene.name)
    assert (scene.root / "run.sh").stat().st_mtime_ns == before, "only the mode had to be put back"


def test_a_read_only_file_in_a_read_only_directory_comes_back(scene: Scene) -> None:
    _lock_away(scene.root)
    scene.save()
    _damage_locked(scene.root)
    scene.check_back_and_forth()


def test_a_read_only_file_in_a_read_only_directory_comes_back_for_an_ordinary_user(
        user: Rewind) -> None:
    _lock_away(user.project)
    chown_all(user.project)
    user.init()
    name = user.save()
    saved = tree_state(user.project)
    _damage_locked(user.project)
    chown_all(user.project / "locked")
    damaged = tree_state(user.project)
    user.json("restore", name)
    assert differences(saved, tree_state(user.project)) == {}
    user.json("undo-restore")
    assert differences(damaged, tree_state(user.project)) == {}


def test_new_files_in_a_read_only_directory_are_gone_for_an_ordinary_user(user: Rewind) -> None:
    (user.project / "locked").mkdir()
    (user.project / "locked").chmod(0o755)
    chown_all(user.project)
    user.init()
    name = user.save()
    saved = tree_state(user.project)
    (user.project / "locked/new/er").mkdir(parents=True)
    (user.project / "locked/new/er/file").write_text("x")
    chown_all(user.project)
    for path in ("locked/new/er/file", "locked/new/er", "locked/new", "locked"):
        (user.project / path).chmod(0o500)
    damaged = tree_state(user.project)
    user.json("restore", name)
    assert differences(saved, tree_state(user.project)) == {}
    user.json("undo-restore")
    assert differences(damaged, tree_state(user.project)) == {}


def _lock_away(root: Path) -> None:
    (root / "locked/inner").mkdir(parents=True)
    for name in ("edited", "deleted", "untouched", "inner/edited"):
        (root / "locked" / name).write_text("then\n")
        (root / "locked" / name).chmod(0o444)
    (root / "locked/inner").chmod(0o555)
    (root / "locked").chmod(0o555)


def _damage_locked(root: Path) -> None:
    locked = root / "locked"
    locked.chmod(0o755)
    (locked / "inner").chmod(0o755)
    for name in ("edited", "inner/edited"):
        (locked / name).chmod(0o644)
        (locked / name).write_text("now\n")
        (locked / name).chmod(0o444)
    (locked / "deleted").unlink()
    (locked / "new").write_text("new\n")
    (locked / "new").chmod(0o400)
    (locked / "inner").chmod(0o555)
    locked.chmod(0o555)


# git

def test_a_nested_repository_comes_back_with_tracked_and_dirty_files(scene: Scene) -> None:
    inner = scene.root / "vendor/lib"
    scene.put("vendor/lib/tracked.c", "int one;\n")
    scene.put("vendor/lib/dirty.c", "int two;\n")
    scene.git("init", "-q", "-b", "main", at=inner)
    scene.git("add", "-A", at=inner)
    scene.git("commit", "-q", "-m", "inner", at=inner)
    scene.put("vendor/lib/dirty.c", "int changed;\n")
    scene.put("vendor/lib/untracked.c", "int three;\n")
    scene.save()
    scene.put("vendor/lib/tracked.c", "wrong\n")
    scene.put("vendor/lib/dirty.c", "wrong\n")
    (inner / "untracked.c").unlink()
    scene.put("vendor/lib/new.c", "wrong\n")
    git_before = git_state(inner)
    scene.check_back_and_forth()
    assert git_state(inner) == git_before


def test_a_new_nested_repository_keeps_its_git_directory(scene: Scene) -> None:
    scene.save()
    scene.put("cloned/code.c", "int one;\n")
    scene.git("init", "-q", at=scene.root / "cloned")
    git_before = git_state(scene.root / "cloned")
    scene.rewind.json("restore", scene.name)
    assert git_state(scene.root / "cloned") == git_before
    scene.rewind.json("undo-restore")
    assert (scene.root / "cloned/code.c").read_text() == "int one;\n"


def test_an_agents_commit_in_between_changes_nothing(git_scene: Scene) -> None:
    git_scene.save()
    git_scene.put("src/main.py", "print('by the agent')\n")
    git_scene.put("agent.txt", "by the agent\n")
    (git_scene.root / "src/old.py").unlink()
    git_scene.git("add", "-A")
    git_scene.git("commit", "-q", "-m", "by the agent")
    git_scene.check_back_and_forth(same_commit=False)


def test_an_agents_branch_reset_and_stash_drop_change_nothing(git_scene: Scene) -> None:
    git_scene.save()
    git_scene.git("checkout", "-q", "-f", "-b", "other")
    git_scene.git("stash", "drop")
    git_scene.git("reset", "-q", "--hard")
    git_scene.git("clean", "-fdq", "-e", ".agent")
    git_scene.check_back_and_forth(same_commit=False)


def test_it_works_in_a_git_worktree_whose_git_is_a_file(rewind: Rewind, tmp_path: Path) -> None:
    scene = Scene(rewind, with_git=True)
    work = tmp_path / "work"
    scene.git("worktree", "add", "-q", str(work))
    inside = Rewind(work, rewind.home)
    inside.init()
    name = inside.save()
    saved, dot_git = tree_state(work), (work / ".git").read_bytes()
    (work / "README.md").write_text("wrong\n")
    inside.json("restore", name)
    assert differences(saved, tree_state(work)) == {}
    assert (work / ".git").read_bytes() == dot_git


# times and links

def test_untouched_files_keep_their_mtimes_and_written_ones_get_the_present(scene: Scene) -> None:
    long_ago = 1_000_000_000
    for path in scene.root.rglob("*"):
        if ".git" not in path.parts and path.is_file():
            os.utime(path, (long_ago, long_ago))
    scene.save()
    before = scene.mtimes()
    scene.put("README.md", "wrong\n")
    os.utime(scene.root / "README.md", (long_ago, long_ago))
    start = time.time_ns() - 1_000_000_000  # file systems keep coarser time than the clock
    scene.rewind.json("restore", scene.name)
    after = scene.mtimes()
    assert after.pop(b"README.md") >= start
    del before[b"README.md"]
    files = {p for p, what in scene.saved.items() if what[0] == "file"} - {b"README.md"}
    assert {p: after[p] for p in files} == {p: before[p] for p in files}
    untouched = {b"src", b"src/deep", b"src/deep/er"}
    assert {p: after[p] for p in untouched} == {p: before[p] for p in untouched}


def test_hard_links_become_independent_files_and_none_is_written_through(
        scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("shared\n")
    scene.put("one", "twin\n")
    os.link(scene.root / "one", scene.root / "two")
    os.link(outside, scene.root / "shared")
    scene.save()
    scene.put("one", "both changed\n")
    scene.put("shared", "changed through the link\n")
    scene.check_back_and_forth()
    assert outside.read_text() == "changed through the link\n", "the world outside is not ours"


def test_sockets_and_fifos_are_left_alone(scene: Scene) -> None:
    os.mkfifo(scene.root / "pipe")
    scene.save()
    scene.put("README.md", "wrong\n")
    os.mkfifo(scene.root / "new-pipe")
    scene.check_back_and_forth(kept=(b"new-pipe",))
    assert stat.S_ISFIFO((scene.root / "pipe").lstat().st_mode)


# parts, and other places

def test_a_partial_restore_touches_only_the_named_paths(scene: Scene) -> None:
    scene.save()
    scene.put("src/main.py", "wrong\n")
    scene.put("README.md", "wrong\n")
    scene.put("src/new.py", "new\n")
    damaged = tree_state(scene.root)
    scene.rewind.json("restore", scene.name, "--", "src/main.py")
    now = tree_state(scene.root)
    assert now == {**damaged, b"src/main.py": scene.saved[b"src/main.py"]}
    scene.rewind.json("undo-restore")
    assert differences(damaged, tree_state(scene.root)) == {}


def test_a_checkpoint_written_elsewhere_is_complete_and_touches_nothing_here(
        scene: Scene, tmp_path: Path) -> None:
    scene.put(".env", "SECRET\n", 0o600)
    (scene.root / "link").symlink_to("README.md")
    (scene.root / "empty").mkdir(mode=0o700)
    scene.save()
    scene.put("README.md", "wrong\n")
    damaged, git_before = tree_state(scene.root), scene.git_state()
    scene.rewind.json("restore", scene.name, "--to", str(tmp_path / "elsewhere"))
    assert differences(scene.saved, tree_state(tmp_path / "elsewhere")) == {}
    assert differences(damaged, tree_state(scene.root)) == {}
    assert scene.git_state() == git_before
