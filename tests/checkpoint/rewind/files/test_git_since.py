"""What plans and `show` say of the user's git repository, which a restore never touches."""

from __future__ import annotations

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from rewind_cli import git, git_state

cli = in_process.cli  # the fixture


@pytest.fixture
def repo(cli: InProcess) -> InProcess:
    """A checkpoint at the first commit on `main`, then another one with other files."""
    run(cli, "init", "-q", "-b", "main")
    commit(cli, "one")
    cli.init()
    return cli


def run(cli: InProcess, *args: str) -> str:
    return git(cli.project, *args, home=cli.home)


def commit(cli: InProcess, text: str) -> str:
    (cli.project / "a.txt").write_text(text)
    run(cli, "add", "-A", ":!.agent")
    run(cli, "commit", "-q", "-m", text)
    return run(cli, "rev-parse", "HEAD").strip()


def notes(cli: InProcess) -> list[str]:
    name = cli.names()[-1]
    plan = list(cli.plan(name)["notes"])
    shown = cli.json("show", name)["gitSince"]
    said = shown["notes"] if shown else []
    assert [note for note in plan if note in said] == said
    return [str(note) for note in said]


def test_commits_since_are_counted_and_stay(repo: InProcess) -> None:
    head = run(repo, "rev-parse", "HEAD").strip()
    for text in ("two", "three", "four"):
        commit(repo, text)
    before = git_state(repo.project)
    [said] = notes(repo)
    assert said.startswith("3 commits since, still on main. The files go back; the commits stay.")
    assert said.endswith(f"git reset --soft {head[:12]}")
    result = repo.ok("restore", repo.names()[-1], "--code-only")
    assert said in result.err and (repo.project / "a.txt").read_text() == "one"
    assert git_state(repo.project) == before
    assert said in repo.ok("show", repo.names()[-1]).out


def test_another_branch(repo: InProcess) -> None:
    run(repo, "switch", "-q", "-c", "feature")
    (repo.project / "a.txt").write_text("edited")
    assert notes(repo) == ["HEAD has moved since, from main to feature. The files go back; the branch"
                           " stays."]


def test_a_branch_that_was_reset(repo: InProcess) -> None:
    newest = commit(repo, "two")
    name = repo.save()
    run(repo, "reset", "-q", "--hard", "HEAD~1")
    [said] = repo.plan(name)["notes"]
    where = newest[:12]
    assert said == f"HEAD has moved since: main was reset. The files go back; HEAD stays. It was at {where}"


def test_where_the_histories_parted(repo: InProcess) -> None:
    commit(repo, "two")
    name = repo.save()
    run(repo, "commit", "-q", "--amend", "-m", "another message", "--allow-empty")
    (repo.project / "a.txt").write_text("edited")
    [said] = repo.plan(name)["notes"]
    assert said.startswith("HEAD has moved since, still on main.")


def test_a_merge_under_way_is_named(repo: InProcess) -> None:
    (repo.project / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    (repo.project / "a.txt").write_text("edited")
    assert notes(repo) == ["A merge is in progress in git and stays in progress. Only files are changed."]


def test_nothing_is_said_where_nothing_moved(repo: InProcess) -> None:
    (repo.project / "a.txt").write_text("edited")
    assert notes(repo) == []


def test_without_git_nothing_is_said(cli: InProcess) -> None:
    cli.init()
    (cli.project / "a.txt").write_text("edited")
    assert cli.plan("last")["notes"] == [] and cli.json("show", "last")["gitSince"] is None


def test_a_commit_that_git_does_not_know(repo: InProcess) -> None:
    path = repo.state / "checkpoints" / repo.names()[-1] / "metadata.json"
    text = path.read_text()
    head = run(repo, "rev-parse", "HEAD").strip()
    for odd in ("f" * 40, "--output=x"):
        path.write_text(text.replace(head, odd))
        (repo.state / "scan-cache.db").unlink(missing_ok=True)
        (repo.project / "a.txt").write_text("edited")
        [said] = repo.plan(repo.names()[-1])["notes"]
        assert said.startswith("HEAD has moved since, still on main.")
