"""A home and a project in which a client runs. A conversation that was recorded in one can be copied to
another."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from rewind_cli import git


class Stage(NamedTuple):
    home: Path
    project: Path


def make_stage(top: Path) -> Stage:
    stage = Stage(top / "home", top / "project")
    stage.home.mkdir()
    stage.project.mkdir()
    make_repository(stage)
    return stage


def make_repository(stage: Stage) -> None:
    (stage.project / "README").write_text("A project.\n")
    git(stage.project, "init", "-q", "-b", "main", home=stage.home)
    git(stage.project, "add", "README", home=stage.home)
    git(stage.project, "commit", "-q", "-m", "begin", home=stage.home)


def copy_stage(recorded: Stage, to: Stage) -> None:
    """Copy everything that the client and its tools have left, as if it had been recorded in the other
    place."""
    # Not the settings of a client that may be running, which the next one writes again. Nor Codex's index of
    # its sessions, which has full paths and is made again from the sessions.
    own = shutil.ignore_patterns(".claude.json*", "*.sqlite*")
    shutil.copytree(recorded.home, to.home, dirs_exist_ok=True, ignore=own)
    shutil.copytree(recorded.project, to.project, dirs_exist_ok=True)
    for was, now in zip(_session_folders(recorded), _session_folders(to)):
        if (to.home / was).exists():
            (to.home / was).rename(to.home / now)
    for path in (*to.home.rglob("*.json*"), *to.home.glob(".gemini/*/*/.project_root")):
        _name_other_place(path, recorded, to)
    _close_clients(to)


def _session_folders(stage: Stage) -> list[str]:
    """The directories in the home where Claude Code and Droid keep the sessions of the project."""
    return [f".claude/projects/{_claude_slug(stage.project)}",
            ".factory/sessions/" + str(stage.project).replace("/", "-")]


def _claude_slug(project: Path) -> str:
    return re.sub("[^A-Za-z0-9]", "-", str(project))


def _close_clients(stage: Stage) -> None:
    """A copy that was made while the client ran must not claim that it runs."""
    for path in (stage.home / ".claude" / "sessions").glob("*"):
        path.unlink()


def _name_other_place(path: Path, recorded: Stage, to: Stage) -> None:
    info = path.stat()
    data = path.read_bytes()
    for was, now in zip(names(recorded), names(to)):
        data = data.replace(was.encode(), now.encode())
    path.write_bytes(data)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def names(stage: Stage) -> list[str]:
    """The texts that name this place in a conversation."""
    return [str(stage.home), str(stage.project), _claude_slug(stage.project)]
