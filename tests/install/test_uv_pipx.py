"""`uv tool install` and `pipx install` of a checkout, a wheel and a git URL, each with its own environment.

`scripts/e2e` brings the two and names their directory in REWIND_TOOLS; they need a package index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from rewind import __version__
from rewind_cli import CHECKOUT, clean_env, git

# Read now, for every test runs in an environment without it.
TOOLS = os.environ.get("REWIND_TOOLS", "")
pytestmark = [pytest.mark.slow, pytest.mark.together, pytest.mark.skipif(
    not TOOLS, reason="REWIND_TOOLS names no directory: uv and pipx are NOT tested (scripts/e2e does)")]
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
COMMANDS = {"uv": (["uv", "tool", "install"], ["uv", "tool", "uninstall"]),
            "pipx": (["pipx", "install"], ["pipx", "uninstall"])}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a commit of its own, so that git can bring it; builds leave nothing in this one."""
    folder = tmp_path_factory.mktemp("source") / "rewind"
    skip = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".e2e", ".*_cache", "dist", "build")
    shutil.copytree(CHECKOUT, folder, symlinks=True, ignore=skip)
    git(folder, "init", "-q", "-b", "main", home=folder.parent)
    git(folder, "add", "-A", home=folder.parent)
    git(folder, "commit", "-q", "-m", "all", home=folder.parent)
    return folder


@pytest.fixture(scope="module")
def sources(checkout: Path) -> dict[str, str]:
    """Each as one would write it, with the extra for the user interfaces."""
    done = subprocess.run([sys.executable, "-c", BUILD, str(checkout.parent)], cwd=checkout,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    wheel = checkout.parent / done.stdout.splitlines()[-1]
    return {"checkout": f"{checkout}[ui]", "wheel": f"{wheel}[ui]",
            "git": f"agentrewind[ui] @ git+file://{checkout}"}


class Person:
    """A home, and what the tools need in it."""

    def __init__(self, home: Path, cache: Path) -> None:
        self.home = home
        kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_"))}
        path = f"{home}/.local/bin:{TOOLS}:{os.environ['PATH']}"
        self.env = {**clean_env(home), **kept, "PATH": path, "UV_CACHE_DIR": str(cache / "uv"),
                    "PIP_CACHE_DIR": str(cache / "pip"), "PIPX_HOME": str(home / "pipx"), "NO_COLOR": "1"}

    def run(self, *command: str, cwd: Path, stdin: str = "", **env: str) -> str:
        done = subprocess.run(command, cwd=cwd, env={**self.env, **env}, input=stdin, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0 and "Traceback" not in done.stderr, (command, done)
        return done.stdout

    def check_page(self, program: str, project: Path) -> None:
        with subprocess.Popen([program, "ui", "--no-open"], cwd=project, env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            try:
                address = process.stdout.readline().split()[-1]
                opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                with opener.open(address, timeout=90) as page:
                    assert b"/static/" in page.read()
            finally:
                process.terminate()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("source", ["checkout", "wheel", "git"])
@pytest.mark.parametrize("tool", ["uv", "pipx"])
def test_a_tools_rewind_works_and_what_it_installs_outlives_it(
        sources: dict[str, str], cache: Path, home: Path, project: Path, tool: str, source: str) -> None:
    person = Person(home, cache)
    install, uninstall = COMMANDS[tool]
    person.run(*install, sources[source], cwd=home)
    program = str(home / ".local" / "bin" / "rewind")
    assert person.run(program, "--version", cwd=project) == f"rewind {__version__}\n"
    git(project, "init", "-q", home=home)
    (project / "a.txt").write_text("one\n")
    person.run(program, "init", cwd=project)
    person.check_page(program, project)
    python = Path(program).resolve().parent / "python"
    person.run(str(python), "-c", "import rewind.tui.app", cwd=project)

    (home / ".claude").mkdir()
    person.run(program, "install", "--yes", cwd=project)
    person.run(*uninstall, "agentrewind", cwd=home)
    assert not python.exists(), "the tool's environment is gone"
    assert (home / ".claude" / "skills" / "rewind" / "hooks" / "register.tsx").is_file()
    check_hook(person, project)
    person.run(str(home / ".rewind" / "system" / "bin-rewind"), "uninstall", "--yes", cwd=project)
    assert list((home / ".claude").iterdir()) == []


def check_hook(person: Person, project: Path) -> None:
    """What the agent's settings say makes a checkpoint."""
    settings = json.loads((person.home / ".claude" / "settings.json").read_text())
    command, = (hook["command"] for group in settings["hooks"]["UserPromptSubmit"] for hook in group["hooks"])
    session = "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41"
    payload = {"session_id": session, "cwd": str(project), "hook_event_name": "UserPromptSubmit",
               "transcript_path": str(person.home / ".claude" / "projects" / "-p" / f"{session}.jsonl"),
               "prompt": "do it", "prompt_id": "1"}
    program = str(person.home / ".rewind" / "system" / "bin-rewind")
    (project / "a.txt").write_text("two\n")
    person.run("/bin/sh", "-c", command, cwd=project, stdin=json.dumps(payload), CLAUDECODE="1",
               CLAUDE_PROJECT_DIR=str(project))
    found = json.loads(person.run(program, "list", "--json", cwd=project))["checkpoints"]
    assert [one["trigger"].get("event") for one in found].count("UserPromptSubmit") == 1
