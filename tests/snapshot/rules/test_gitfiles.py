from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.snapshot.rules import gitconfig
from rewind.snapshot.rules.gitfiles import global_excludes, info_exclude, read_small, work_tree_top
from rewind.snapshot.rules.ignore import MAX_BYTES


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }


@pytest.fixture
def repo(tmp_path: Path, env: dict[str, str]) -> Path:
    path = tmp_path / "repo"
    git(env, "init", "-q", str(path))
    return path


def git(env: dict[str, str], *args: str) -> None:
    subprocess.run(["git", *args], env=env, check=True, capture_output=True)


def b(path: Path) -> bytes:
    return os.fsencode(path)


# work_tree_top


def test_the_top_is_found_from_below(repo: Path) -> None:
    (repo / "a" / "b").mkdir(parents=True)
    assert work_tree_top(b(repo / "a" / "b")) == b(repo)
    assert work_tree_top(b(repo)) == b(repo)


def test_there_is_no_top_outside_a_work_tree(home: Path) -> None:
    assert work_tree_top(b(home)) is None


def test_the_nearest_of_nested_repositories_is_the_top(repo: Path, env: dict[str, str]) -> None:
    git(env, "init", "-q", str(repo / "inner"))
    (repo / "inner" / "a").mkdir()
    assert work_tree_top(b(repo / "inner" / "a")) == b(repo / "inner")


@pytest.mark.parametrize("content", [None, b"nonsense", b""])
def test_a_dot_git_that_is_none_is_passed_over(repo: Path, content: bytes | None) -> None:
    (repo / "a").mkdir()
    if content is None:
        (repo / "a" / ".git").mkdir()
    else:
        (repo / "a" / ".git").write_bytes(content)
    assert work_tree_top(b(repo / "a")) == b(repo)


# info_exclude


def test_info_exclude_is_read(repo: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_bytes(b"secret\n")
    assert info_exclude(b(repo)) == b"secret\n"


def test_there_may_be_no_info_exclude(repo: Path, home: Path) -> None:
    (repo / ".git" / "info" / "exclude").unlink()
    assert info_exclude(b(repo)) == b""
    assert info_exclude(b(home)) == b""


def test_a_linked_work_tree_uses_the_info_exclude_of_its_repository(
    repo: Path, env: dict[str, str], tmp_path: Path
) -> None:
    git(env, "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "one")
    linked = tmp_path / "linked"
    git(env, "-C", str(repo), "worktree", "add", "-q", str(linked))
    (repo / ".git" / "info" / "exclude").write_bytes(b"shared\n")
    assert work_tree_top(b(linked)) == b(linked)
    assert info_exclude(b(linked)) == b"shared\n"


def test_a_relative_gitdir_is_followed(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / ".git").write_bytes(b"gitdir: ../repo/.git\n")
    (repo / ".git" / "info" / "exclude").write_bytes(b"x\n")
    assert info_exclude(b(tmp_path / "moved")) == b"x\n"


def test_a_gitdir_that_is_gone_excludes_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: /nowhere/\0/at/all\n")
    assert work_tree_top(b(tmp_path)) == b(tmp_path)
    assert info_exclude(b(tmp_path)) == b""


# global_excludes


def test_the_default_places_of_the_global_excludes(
    home: Path, env: dict[str, str], tmp_path: Path
) -> None:
    assert global_excludes(b(home), env) == b""
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_bytes(b"default\n")
    assert global_excludes(b(home), env) == b"default\n"
    (tmp_path / "xdg" / "git").mkdir(parents=True)
    (tmp_path / "xdg" / "git" / "ignore").write_bytes(b"xdg\n")
    assert global_excludes(b(home), {**env, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}) == b"xdg\n"
    assert global_excludes(b(home), {**env, "XDG_CONFIG_HOME": ""}) == b"default\n"


def test_the_nearer_config_wins(
    home: Path, env: dict[str, str], repo: Path, tmp_path: Path
) -> None:
    for name in ("system", "xdg", "user", "repo", "special"):
        (home / name).write_bytes(name.encode())
    system, special = tmp_path / "system", tmp_path / "special"
    system.write_text("[core]\nexcludesFile = ~/system\n")
    special.write_text("[core]\nexcludesFile = ~/special\n")
    with_system = {k: v for k, v in env.items() if k != "GIT_CONFIG_NOSYSTEM"}
    with_system["GIT_CONFIG_SYSTEM"] = str(system)
    assert global_excludes(b(home), with_system) == b"system"
    assert global_excludes(b(home), {**with_system, "GIT_CONFIG_NOSYSTEM": "1"}) == b""
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "config").write_text("[core]\nexcludesfile = ~/xdg\n")
    assert global_excludes(b(home), with_system) == b"xdg"
    (home / ".gitconfig").write_text("[core]\nexcludesfile = ~/user\n")
    assert global_excludes(b(home), with_system) == b"user"
    assert global_excludes(b(home), {**env, "GIT_CONFIG_GLOBAL": str(special)}) == b"special"
    git(env, "-C", str(repo), "config", "core.excludesFile", "~/repo")
    assert global_excludes(b(home), env, b(repo)) == b"repo"
    assert global_excludes(b(home), env) == b"user"


def test_an_empty_setting_turns_the_global_excludes_off(home: Path, env: dict[str, str]) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_bytes(b"default\n")
    (home / ".gitconfig").write_text("[core]\n excludesFile =\n")
    assert global_excludes(b(home), env) == b""


def test_a_relative_excludes_file_is_seen_from_the_top(
    home: Path, env: dict[str, str], repo: Path
) -> None:
    (home / ".gitconfig").write_text("[core]\n excludesFile = shared-ignore\n")
    (repo / "shared-ignore").write_bytes(b"here\n")
    assert global_excludes(b(home), env, b(repo)) == b"here\n"


def test_an_included_config_is_asked_of_git(home: Path, env: dict[str, str], repo: Path) -> None:
    (home / "ignore").write_bytes(b"included\n")
    (home / "more").write_text("[core]\n excludesFile = ~/ignore\n")
    (home / ".gitconfig").write_text(f'[includeIf "gitdir:{repo}/"]\n path = more\n')
    assert global_excludes(b(home), env, b(repo)) == b"included\n"
    assert global_excludes(b(home), env) == b""
    misled = {**env, "GIT_DIR": "/nowhere", "GIT_CONFIG": "/nowhere"}
    assert global_excludes(b(home), misled, b(repo)) == b"included\n"


def test_without_git_an_include_is_passed_over(home: Path, env: dict[str, str]) -> None:
    (home / "own").write_bytes(b"own\n")
    (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/own\n[include]\npath = ~/more\n")
    (home / "more").write_text("[core]\nexcludesFile = ~/other\n")
    assert global_excludes(b(home), {**env, "PATH": str(home)}) == b"own\n"


# odd files


def test_an_odd_file_is_absent(tmp_path: Path, home: Path, env: dict[str, str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"x" * (MAX_BYTES + 1))
    (tmp_path / "loop").symlink_to("loop")
    for name in ("fifo", "large", "loop", "absent", "fifo/below", "", "n\0l"):
        assert read_small(os.path.join(b(tmp_path), name.encode())) == b""
        (home / ".gitconfig").write_text(f"[core]\n excludesFile = {tmp_path}/{name}\n")
        assert global_excludes(b(home), env) == b""


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * MAX_BYTES)
    assert len(read_small(b(tmp_path / "large"))) == MAX_BYTES


def test_a_symlink_is_followed_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_small(b(tmp_path / "link")) == b"x"
    assert read_small(b(tmp_path / "link"), follow=False) == b""


def test_a_config_that_cannot_be_read_is_absent(home: Path, env: dict[str, str]) -> None:
    os.mkfifo(home / ".gitconfig")
    assert global_excludes(b(home), env) == b""


# the config syntax

VALUES = [
    "[core]\nexcludesfile = a",
    "[core] excludesfile = a",
    "[CORE]\n\tExcludesFile=a\n",
    "\ufeff[core]\r\nexcludesfile = a\r\nother = b\r\n",
    "[core]\nexcludesfile = a b  # comment",
    '[core]\nexcludesfile = "a # b ; c  " ; comment',
    '[core]\nexcludesfile = a" b "c" "  ',
    '[core]\nexcludesfile = "a\\tb\\"c\\\\d\\n"',
    "[core]\nexcludesfile = a\\\nb\n",
    "[core]\nexcludesfile = a \\\n  b\n",
    "[core]\nexcludesfile = a\nexcludesfile = b\n[other]\nexcludesfile = c",
    '[core "sub"]\nexcludesfile = a',
    "[core.sub]\nexcludesfile = a",
    '[x "]"]\n[core]\nexcludesfile = a',
    '[x "\\"]"]\n[core]\nexcludesfile = a',
    "; [core]\n# [core]\n[core];x\nexcludesfile = a",
    "[core]\nbare\nexcludesfile = a",
    "[core]\nexcludesfile =",
    "[core]\nexcludesfile = #",
    "",
]


def asked_of_git(config: Path, text: bytes, env: dict[str, str]) -> tuple[bool, bytes | None]:
    """Whether git accepts the file, and its value of core.excludesFile."""
    config.write_bytes(text)
    command = ["git", "config", "-f", str(config), "-z", "--get", "core.excludesFile"]
    done = subprocess.run(command, env=env, capture_output=True)
    return done.returncode in (0, 1), done.stdout[:-1] if done.returncode == 0 else None


def ours(text: bytes) -> bytes | None:
    return dict(gitconfig.entries(text)).get(b"core.excludesfile")


@pytest.mark.parametrize("text", VALUES)
def test_a_config_is_read_as_git_reads_it(text: str, tmp_path: Path, env: dict[str, str]) -> None:
    assert asked_of_git(tmp_path / "config", text.encode(), env) == (True, ours(text.encode()))


CONFIG_PIECES = ["[core]\n", '[core "x"]', '[a "\\"]"]', "[a.b]", "excludesfile", " = ", "=", "\n"]
CONFIG_PIECES += ["x", " ", '"', "\\", "\\\n", "\\t", "#", ";", "]", "\r\n", "\nexcludesfile = y"]


@settings(max_examples=int(os.environ.get("REWIND_EXAMPLES", "100")), deadline=None)
@given(st.lists(st.sampled_from(CONFIG_PIECES), max_size=12).map("".join))
def test_no_config_that_git_accepts_is_read_differently(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    text = "[core]\nexcludesfile = " + text
    config = tmp_path_factory.getbasetemp() / "config"
    accepted, value = asked_of_git(config, text.encode(), {"PATH": os.environ["PATH"]})
    assert not accepted or ours(text.encode()) == value
