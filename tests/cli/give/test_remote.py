"""`rewind remote`, `push`, `pull` and `clone`, over real repositories of git."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Claude, Turns, prompts_of
from cli.conftest import InProcess
from remote_servers import daemon, sshd, sshd_program
from rewind.checkpoint.remote.push.fast_import import FastImport
from rewind.checkpoint.share.giving.outgoing import checkpoint_id
from rewind.controller import Controller
from rewind.snapshot.trees.tree import DIR
from rewind_cli import Rewind, git, git_state, tree_state

pytestmark = pytest.mark.slow  # many processes of git

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


@pytest.fixture
def bare(cli: InProcess, tmp_path: Path) -> Path:
    folder = tmp_path / "team's project.git"
    git(tmp_path, "init", "-q", "--bare", str(folder), home=cli.home)
    return folder


@pytest.fixture
def here(cli: InProcess, bare: Path) -> InProcess:
    """Three checkpoints, of which the third is another branch, and a remote."""
    cli._monkeypatch.setattr(os, "fsync", lambda fd: None)  # no test here is about losing power
    (cli.project / "src").mkdir()
    (cli.project / "src/app.py").write_text("one\n")
    (cli.project / "src/app.py").chmod(0o4750)
    (cli.project / "old").write_text("old\n")
    (cli.project / "empty").mkdir()
    (cli.project / ".gitmodules").write_text("[not a submodule\n")
    (cli.project / "100% .git?").mkdir()
    (cli.project / "100% .git?" / ".GITattributes").write_text("* text\n")
    (cli.project / "link").symlink_to("src/app.py")
    (cli.project / ".env").write_text("DB_PASSWORD=s3cr3tPassw0rd\n")
    (cli.project / "chunked.bin").write_bytes(bytes((4 << 20) + 1))
    with open(os.fsencode(cli.project) + b"/o\xffdd\nname", "w") as file:
        file.write("odd\n")
    cli.init()
    (cli.project / "src/app.py").write_text("two\n")
    (cli.project / "link").unlink()
    (cli.project / "link").mkdir()
    (cli.project / "empty").rmdir()
    (cli.project / "empty").write_text("a file now\n")
    cli.save("second")
    cli.ok("undo")
    (cli.project / "old").unlink()
    cli.save("third")
    cli.ok("remote", "add", "origin", str(bare))
    return cli


@pytest.fixture
def other(here: InProcess, bare: Path, tmp_path: Path) -> Rewind:
    """Another project with the same remote."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "own.txt").write_text("own\n")
    here.run("init", cwd=folder)
    here.run("remote", "add", "origin", str(bare), cwd=folder)
    return here.elsewhere(folder, here.home)


@contextmanager
def opened(rewind: Rewind) -> Iterator[Controller]:
    controller = Controller(str(rewind.project), home=str(rewind.home / ".rewind"))
    try:
        yield controller
    finally:
        controller.close()


def trees(rewind: Rewind) -> dict[str, dict[bytes, Any]]:
    """What each checkpoint holds, by the id that it has everywhere."""
    with opened(rewind) as controller:
        store_id = controller.state.store_info["id"]
        return {checkpoint_id(store_id, record): {
            path: (entry.kind, entry.mode, b"" if entry.kind == DIR else entry.ref)
            for path, entry in controller.files(record.name)}
            for record in controller.list_checkpoints(backups=True)}


def without_secrets(found: dict[str, dict[bytes, Any]]) -> dict[str, dict[bytes, Any]]:
    return {name: {**paths, b".env": (b"u", 0, b"secret")} for name, paths in found.items()}


def refs(bare: Path, home: Path) -> dict[str, str]:
    lines = git(bare, "for-each-ref", "--format=%(refname) %(objectname)", home=home).splitlines()
    return dict(line.split() for line in lines)  # type: ignore[misc]


# remotes

def test_a_remote_is_added_listed_and_removed(here: InProcess, bare: Path) -> None:
    assert here.json("remote")["remotes"] == [
        {"name": "origin", "url": str(bare), "pushedAt": None, "pulledAt": None}]
    assert stat.S_IMODE((here.state / "remotes.json").stat().st_mode) == 0o600
    assert "already" in here.fails(1, "remote", "add", "origin", "elsewhere")
    here.ok("push")
    assert here.json("remote", "list")["remotes"][0]["pushedAt"]
    here.ok("remote", "remove", "origin", "--dry-run")
    here.ok("remote", "remove", "origin")
    assert here.json("remote")["remotes"] == []
    assert not (here.state / "remote.git").exists() and refs(bare, here.home)
    here.fails(12, "remote", "remove", "origin")
    here.fails(12, "push", hint="rewind remote add origin URL")


def test_an_address_that_git_would_run_is_refused(here: InProcess) -> None:
    for url in ("-oProxyCommand=touch x", "ext::sh -c touch% x", "fd::3", "ftp://h/x", "", "a\nb",
                "--upload-pack=x"):
        assert here.run("remote", "add", "bad", "--", url).code == 2, url
        assert [one["name"] for one in here.json("remote")["remotes"]] == ["origin"], url


def test_a_name_that_git_would_not_take_is_refused(here: InProcess, bare: Path) -> None:
    for name in ("a b", "../x", "-x", "a..b", "x.lock", "é", ""):
        assert here.run("remote", "add", "--", name, str(bare)).code == 2, name


def test_a_relative_path_is_meant_from_the_current_directory(here: InProcess, bare: Path) -> None:
    here.ok("remote", "add", "near", f"../{bare.name}")
    assert here.json("push", "near")["checkpoints"] == 3


def test_the_password_in_an_address_is_never_shown(here: InProcess) -> None:
    secret = "hunter2hunter2"
    added = here.ok("remote", "add", "web", f"http://me:{secret}@127.0.0.1:9/x.git")
    failed = here.run("push", "web", "--verbose")
    assert failed.code == 1 and "127.0.0.1" in failed.err
    shown = [added, failed, here.ok("remote"), here.ok("remote", "status"), here.run("pull", "web", "--json"),
             here.ok("remote", "list", "--json")]
    assert not any(secret in one.out + one.err for one in shown)
    assert "http://me:***@127.0.0.1" in added.out
    needed = ("remotes.json", "config")
    logs = [path for path in here.state.rglob("*") if path.is_file() and path.name not in needed]
    assert not any(secret.encode() in path.read_bytes() for path in logs)


# push and pull

def test_everything_arrives_but_secrets(here: InProcess, other: Rewind, bare: Path) -> None:
    pushed = here.json("push")
    assert pushed["checkpoints"] == 3 and pushed["bytes"] > 1 << 10
    assert pushed["leftOut"] == [{"path": ".env", "reason": "secret"}]
    pulled = other.json("pull")
    assert pulled["checkpoints"] == 3 and len(pulled["lanes"]) == 1
    ours, theirs = trees(here), trees(other)
    assert without_secrets(ours) == {name: theirs[name] for name in ours}
    git(bare, "fsck", "--strict", "--full", home=here.home)
    packed = git(bare, "rev-list", "--all", "--objects", home=here.home)
    assert ".env" not in packed and "100%25 .git?/%2EGITattributes" in packed


def test_a_checkpoint_that_only_adds_a_directory_can_be_pushed(here: InProcess, bare: Path,
                                                               tmp_path: Path) -> None:
    (here.project / "old").write_text("once more\n")
    here.save("with a file")
    (here.project / "new directory").mkdir()
    here.save("with nothing but a directory")
    here.ok("push")
    here.run("clone", str(bare), "theirs", cwd=tmp_path)
    assert (tmp_path / "theirs" / "new directory").is_dir()


def test_when_git_gives_up_its_own_words_are_told(here: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(fast: FastImport, mark: bytes) -> bytes:
        fast._send(b"no such command\n")
        fast._in.flush()
        fast._process.wait()
        return commit_of(fast, mark)

    commit_of = FastImport.commit_of
    monkeypatch.setattr(FastImport, "commit_of", asked)
    assert "`git fast-import` failed: Unsupported command: no such command" in here.fails(1, "push")


def test_a_second_time_nothing_is_sent_and_nothing_is_taken(here: InProcess, other: Rewind) -> None:
    here.ok("push")
    assert here.json("push")["checkpoints"] == 0
    assert "already" in here.ok("remote", "push").out
    other.ok("pull")
    before = other.names(backups=True)
    assert other.json("pull")["checkpoints"] == 0 and other.names(backups=True) == before


def test_a_pull_touches_no_file_and_no_git(here: InProcess, other: Rewind) -> None:
    git(other.project, "init", "-q", home=here.home)
    was, was_git = tree_state(other.project), git_state(other.project)
    here.ok("push")
    other.ok("pull")
    assert tree_state(other.project) == was and git_state(other.project) == was_git
    assert other.json("list")["here"] in other.names()
    assert "own.txt" in other.ok("show", "@", "--files").out


def test_pulled_checkpoints_are_used_like_any_other(here: InProcess, other: Rewind) -> None:
    here.ok("push")
    other.ok("pull")
    name = next(c["name"] for c in other.json("list", "--all", "--checkpoints")["checkpoints"]
                if c["description"] == "second")
    other.ok("restore", name, "--code-only")
    assert (other.project / "src/app.py").read_text() == "two\n"
    other.ok("undo-restore")
    assert not (other.project / "src").exists()


def test_both_went_on_and_nothing_is_overwritten(here: InProcess, other: Rewind, bare: Path) -> None:
    here.ok("push")
    other.ok("push")
    first = refs(bare, here.home)
    assert here.json("pull")["checkpoints"] == 1 and other.json("pull")["checkpoints"] == 3
    (here.project / "src/app.py").write_text("mine\n")
    here.save("mine")
    (other.project / "own.txt").write_text("theirs\n")
    other.save("theirs")
    assert here.json("push")["checkpoints"] == 1 and other.json("push")["checkpoints"] == 1
    assert here.json("pull")["checkpoints"] == 1 and other.json("pull")["checkpoints"] == 1
    assert set(trees(here)) == set(trees(other))
    for name, commit in first.items():
        git(bare, "merge-base", "--is-ancestor", commit, refs(bare, here.home)[name], home=here.home)


def test_the_projects_own_repository_can_be_the_remote(here: InProcess, bare: Path) -> None:
    project = here.project
    git(project, "init", "-q", home=here.home)
    git(project, "commit", "-q", "--allow-empty", "-m", "x", home=here.home)
    git(project, "push", "-q", str(bare), "HEAD:refs/heads/main", home=here.home)
    was, branches = git_state(project), refs(bare, here.home)
    here.ok("push")
    assert git_state(project) == was
    now = refs(bare, here.home)
    assert {name: now[name] for name in branches} == branches
    assert all(name.startswith("refs/rewind/") for name in set(now) - set(branches))


def test_a_dry_run_sends_and_takes_nothing(here: InProcess, other: Rewind, bare: Path) -> None:
    assert here.json("push", "--dry-run")["checkpoints"] == 3
    assert refs(bare, here.home) == {}
    here.ok("push")
    before = other.names(backups=True)
    assert other.json("pull", "--dry-run")["checkpoints"] == 3
    assert other.names(backups=True) == before
    assert other.json("pull")["checkpoints"] == 3


def test_secrets_and_ignored_files_on_request(here: InProcess, other: Rewind) -> None:
    here.ok("push", "--with-secrets", "--with-ignored")
    other.ok("pull")
    ours, theirs = trees(here), trees(other)
    assert ours == {name: theirs[name] for name in ours}


def test_status_says_what_is_where(here: InProcess, other: Rewind) -> None:
    def status(rewind: Rewind) -> dict[str, Any]:
        found: dict[str, Any] = rewind.json("remote", "status")["remotes"][0]
        return found

    assert (status(here)["pushed"], status(here)["notPushed"], status(here)["writers"]) == (0, 3, 0)
    here.ok("push")
    assert (status(here)["pushed"], status(here)["notPushed"]) == (3, 0)
    assert (status(other)["writers"], status(other)["writersWithNews"]) == (1, 1)
    other.ok("pull")
    assert status(other)["writersWithNews"] == 0
    assert "nothing new" in other.ok("remote", "status").out


def test_a_remote_that_is_not_there_is_told_and_nothing_is_lost(here: InProcess, bare: Path) -> None:
    bare.rename(bare.parent / "gone")
    here.fails(1, "push")
    here.fails(1, "pull")
    found = here.json("remote", "status")["remotes"][0]
    assert not found["reachable"] and found["error"]
    (bare.parent / "gone").rename(bare)
    assert here.json("push")["checkpoints"] == 3


def test_what_was_collected_here_comes_back_with_all(here: InProcess, bare: Path) -> None:
    here.ok("push")
    name = next(c["name"] for c in here.json("list", "--all", "--checkpoints")["checkpoints"]
                if c["description"] == "second")
    was = trees(here)
    here.ok("delete", name, "--force", "--yes")
    assert here.json("pull")["checkpoints"] == 0
    assert here.json("pull", "--all")["checkpoints"] == 1
    assert without_secrets(was) == without_secrets(trees(here))


def test_others_go_on_from_what_was_collected_here(here: InProcess, other: Rewind) -> None:
    here.ok("push")
    other.ok("pull")
    for one in other.json("list", "--all", "--checkpoints")["checkpoints"]:
        if one["description"] == "second":
            other.ok("delete", one["name"], "--force", "--yes")
    here.ok("restore", "second", "--code-only")
    (here.project / "src/app.py").write_text("on\n")
    here.save("on from there")
    here.ok("push")
    assert other.json("pull")["checkpoints"] >= 1
    with opened(here) as controller:
        store_id, newest = controller.state.store_info["id"], controller.list_checkpoints()[0]
        name = checkpoint_id(store_id, newest)
    assert without_secrets(trees(here))[name] == trees(other)[name]


def test_a_copy_of_the_store_takes_another_name_instead_of_forcing(here: InProcess, bare: Path,
                                                                     tmp_path: Path) -> None:
    here.ok("push")
    copy = tmp_path / "copy"
    shutil.copytree(here.state, copy)
    (here.project / "old").write_text("x\n")
    here.save("one copy")
    here.ok("push")
    shutil.rmtree(here.state)
    shutil.copytree(copy, here.state)
    (here.project / "old").write_text("y\n")
    here.save("other copy")
    before = refs(bare, here.home)
    here.ok("push")
    now = refs(bare, here.home)
    assert {name: now[name] for name in before} == before and len(now) > len(before)
    assert here.json("push")["checkpoints"] == 0


# clone

def test_a_clone_has_everything(here: InProcess, bare: Path, tmp_path: Path) -> None:
    here.ok("push")
    cloned = here.json("clone", str(bare), str(tmp_path / "cloned"))
    there = here.elsewhere(tmp_path / "cloned", here.home)
    assert cloned["root"] == str(there.project) and cloned["checkpoints"] == 3
    ours, theirs = trees(here), trees(there)
    assert without_secrets(ours) == {name: theirs[name] for name in ours}
    mine = {path: what for path, what in tree_state(here.project).items() if path != b".env"}
    assert tree_state(there.project) == mine
    (there.project / "src/app.py").write_text("from the clone\n")
    there.save("from the clone")
    there.ok("undo")
    assert there.json("push")["checkpoints"] >= 1
    assert here.json("pull")["checkpoints"] >= 1


def test_a_clone_is_called_what_the_remote_is_called(here: InProcess, bare: Path, tmp_path: Path) -> None:
    here.ok("push")
    assert here.run("clone", str(bare), cwd=tmp_path).code == 0
    assert (tmp_path / "team's project" / "old").exists() is False
    assert (tmp_path / "team's project" / "src/app.py").read_text() == "one\n"


def test_a_failed_clone_leaves_nothing(here: InProcess, bare: Path, tmp_path: Path) -> None:
    target = tmp_path / "new"
    known = here.json("projects")
    here.fails(1, "clone", str(bare), str(target))  # nobody has pushed
    here.fails(1, "clone", str(tmp_path / "nothing.git"), str(target))
    assert not target.exists() and here.json("projects") == known
    here.fails(2, "clone", str(bare), str(here.project))


# conversations

@pytest.fixture
def scene(cli: InProcess, bare: Path) -> Turns:
    scene = Turns(cli)
    scene.turn("Write a parser", parser="one\n")
    scene.turn(f"Use {KEY}", parser="two\n")
    cli.ok("remote", "add", "origin", str(bare))
    return scene


def test_conversations_are_masked_and_resumable_elsewhere(scene: Turns, bare: Path, tmp_path: Path) -> None:
    pushed = scene.cli.json("push")
    assert pushed["conversations"] == 1
    assert [one["kind"] for one in pushed["secrets"] if "session" in one]
    home = tmp_path / "elsewhere"
    home.mkdir()
    there = scene.cli.elsewhere(tmp_path, home)
    cloned = there.json("clone", str(bare), str(tmp_path / "work"))
    there.project = tmp_path / "work"
    [session] = cloned["sessions"]
    assert session["resume"].endswith(f"--resume {session['session_id']}")
    [path] = (home / ".claude").rglob(f"{session['session_id']}.jsonl")
    assert prompts_of("claude", path) == ["Write a parser", "Use [secret left out: github-token]"]
    assert KEY.encode() not in path.read_bytes() and str(scene.cli.project).encode() not in path.read_bytes()
    assert not any(KEY.encode() in blob for blob in contents(bare, scene.cli.home))


def test_a_conversation_that_grew_costs_its_growth(scene: Turns, bare: Path) -> None:
    for n in range(30):
        scene.say(f"turn {n} " + os.urandom(8000).hex())
    scene.cli.ok("push")
    scene.turn("One more", parser="three\n")
    assert scene.cli.json("push")["bytes"] < 200_000
    assert scene.cli.json("push")["conversations"] == 0


@pytest.fixture
def there(scene: Turns, bare: Path, tmp_path: Path) -> Rewind:
    """Somebody else who has cloned the conversation."""
    scene.cli.ok("push")
    home = tmp_path / "elsewhere"
    (home / ".claude/sessions").mkdir(parents=True)  # nobody has anything open
    there = scene.cli.elsewhere(tmp_path, home)
    there.ok("clone", str(bare), str(tmp_path / "work"))
    there.project = tmp_path / "work"
    return there


def turns_there(there: Rewind) -> list[tuple[int, bool]]:
    sessions = there.json("sessions", "list")["sessions"]
    return sorted((one["turns"], one["archived"]) for one in sessions)


def test_a_conversation_that_went_on_is_the_same_session(scene: Turns, there: Rewind) -> None:
    [before] = there.json("sessions", "list")["sessions"]
    there.ok("forks", "rename", before["session_id"], "the parser")
    for count, text in ((3, "Go on"), (4, "And on")):
        scene.turn(text, parser=f"{text}\n")
        scene.cli.ok("push")
        [pulled] = there.json("pull")["sessions"]
        assert pulled["session_id"] == before["session_id"]
        assert turns_there(there) == [(count, False)]
    [path] = (there.home / ".claude").rglob("*.jsonl")
    assert prompts_of("claude", path)[-2:] == ["Go on", "And on"]
    assert there.json("sessions", "list")["sessions"][0]["name"] == "the parser"
    made = [c for c in there.json("list", "--all", "--checkpoints")["checkpoints"] if c["sessionId"]]
    assert {c["sessionId"] for c in made} == {before["session_id"]}


def test_where_both_went_on_theirs_is_another_session(scene: Turns, there: Rewind) -> None:
    [path] = (there.home / ".claude").rglob("*.jsonl")
    mine = Claude(there.project, path.stem)
    mine.turn("My own question")
    with open(path, "ab") as file:
        file.write(b"".join(line + b"\n" for line in mine.lines))
    said = path.read_bytes()
    scene.turn("Go on", parser="three\n")
    scene.cli.ok("push")
    [pulled] = there.json("pull")["sessions"]
    assert pulled["session_id"] != path.stem and path.read_bytes() == said
    assert [archived for _, archived in turns_there(there)] == [False, False]


def test_a_conversation_that_began_anew_is_another_session(scene: Turns, there: Rewind) -> None:
    """It was cut in place, and does not begin with what was pulled."""
    lines = scene.path.read_bytes().replace(b"Write a parser", b"Write a lexer!")
    scene.path.write_bytes(lines)
    scene.turn("Go on", parser="three\n")
    scene.cli.ok("push")
    there.ok("pull")
    assert turns_there(there) == [(2, True), (3, False)]


def contents(bare: Path, home: Path) -> Iterator[bytes]:
    listed = git(bare, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", home=home).split()
    for name in listed:
        done = subprocess.run(["git", "cat-file", "-p", name], cwd=bare, check=True, capture_output=True)
        yield done.stdout


# over a network

def test_over_git_daemon(here: InProcess, other: Rewind, bare: Path, tmp_path: Path) -> None:
    with daemon(tmp_path) as url:
        bare.rename(bare.parent / "plain.git")
        address = f"{url}/plain.git"
        here.ok("remote", "add", "net", address)
        other.ok("remote", "add", "net", address)
        assert here.json("push", "net")["checkpoints"] == 3
        assert other.json("pull", "net")["checkpoints"] == 3
        assert here.json("remote", "status", "net")["remotes"][0]["pushed"] == 3


@pytest.mark.skipif(not sshd_program(), reason="there is no sshd here: ssh is not tried")
def test_over_ssh(here: InProcess, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env: dict[str, str] = {}
    with sshd(tmp_path, env) as url:
        monkeypatch.setenv("GIT_SSH_COMMAND", env["GIT_SSH_COMMAND"])
        here.ok("remote", "add", "net", f"{url}{bare}")
        assert here.json("push", "net")["checkpoints"] == 3
        assert here.json("clone", f"{url}{bare}", str(tmp_path / "cloned"))["checkpoints"] == 3


# disk space

def test_what_is_kept_for_remotes_counts(here: InProcess) -> None:
    before = here.json("status")["disk"]
    assert before["remoteBytes"] == 0 and "for remotes" not in here.ok("status").out
    here.ok("push")
    now = here.json("status")["disk"]
    assert now["remoteBytes"] == here.json("remote", "status")["bytes"] > 0
    assert now["bytes"] >= before["bytes"] + now["remoteBytes"]
    assert "for remotes" in here.ok("status").out


def test_gc_packs_what_is_kept_for_remotes_and_a_push_goes_on(here: InProcess, bare: Path,
                                                              tmp_path: Path) -> None:
    here.ok("push")
    ours = here.state / "remote.git"
    for n in range(200):
        (tmp_path / f"unused{n}").write_text(f"nobody needs {n}\n")
    git(ours, "hash-object", "-w", *(str(path) for path in tmp_path.glob("unused*")), home=here.home)
    assert len(list(ours.glob("objects/??/*"))) >= 200
    freed = here.json("gc")["freedBytes"]
    assert not list(ours.glob("objects/??/*")) and freed > 0
    assert here.json("push")["checkpoints"] == 0
    (here.project / "old").write_text("new\n")
    here.save()
    assert here.json("push")["checkpoints"] == 1
    for repository in (ours, bare):
        git(repository, "fsck", "--strict", "--full", home=here.home)


def test_a_large_repository_takes_at_most_half_of_the_room(here: InProcess) -> None:
    """Deleting checkpoints does not make it smaller, so they are not all deleted for it."""
    here.ok("push")
    (here.state / "remote.git" / "large").write_bytes(bytes(3 << 20))
    here.ok("config", "--set", "storage.maxSizeMb=1")
    before = here.names(backups=True)
    here.ok("gc")
    assert here.names(backups=True) == before


# who waits for whom

def test_a_push_and_a_checkpoint_do_not_wait_for_a_download(here: InProcess, other: Rewind) -> None:
    """While what others have pushed is fetched and checked, nothing is locked."""
    from rewind.checkpoint.remote.pull import pull as pulling

    other.ok("push")
    look, seen = pulling.check_incoming, []

    def look_slowly(state: Any, inbox: Any) -> Any:
        if not seen:
            seen.append(Rewind(here.project, here.home))
            seen[0].ok("save", "meanwhile")
            seen[0].ok("push")
        return look(state, inbox)

    here._monkeypatch.setattr(pulling, "check_incoming", look_slowly)
    assert here.json("pull")["checkpoints"] == 1 and seen
    assert here.json("push")["checkpoints"] == 0
    [times] = here.json("remote")["remotes"]
    assert times["pushedAt"] and times["pulledAt"]


def test_what_is_collected_during_a_download_is_taken_all_the_same(here: InProcess, other: Rewind) -> None:
    from rewind.checkpoint.remote.pull import pull as pulling

    [first] = other.names()
    (other.project / "own.txt").write_text("changed\n")
    other.save("changed")
    other.ok("push")
    here.ok("pull")
    other.ok("restore", first, "--code-only")
    (other.project / "more.txt").write_text("more\n")
    other.save("goes on from what is about to be collected")
    other.ok("push")
    look, seen = pulling.check_incoming, []

    def look_first(state: Any, inbox: Any) -> Any:
        checked = look(state, inbox)
        if not seen:
            seen.append(Rewind(here.project, here.home))
            lane = [c["name"] for c in seen[0].json("list", "--all", "--checkpoints")["checkpoints"]
                    if c["place"].startswith("@")]
            seen[0].ok("delete", min(lane), "--force", "--yes")
        return checked

    here._monkeypatch.setattr(pulling, "check_incoming", look_first)
    here.ok("pull")
    assert here.run("validate", "--deep").code == 0
    theirs = {name: tree for name, tree in trees(other).items() if b"more.txt" in tree}
    mine = trees(here)
    assert theirs and all(mine[name] == tree for name, tree in theirs.items())
