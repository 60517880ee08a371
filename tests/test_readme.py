"""A stranger's path: what README and CONTRIBUTING say to type works, in a fresh copy with an empty home.

Blocks behind the comment `<!-- run -->` are run, those of a page one after the other in one shell. Of a block
with prompts, the lines that begin with `$ ` are what is typed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewind_cli import CHECKOUT, clean_env

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^<!-- run -->\n```\w*\n(.*?)^```$", re.M | re.S)
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".e2e", ".agent", ".hypothesis", "__pycache__", "dist",
                                  "build", ".pytest_cache", ".mypy_cache", ".ruff_cache")


def typed(block: str) -> str:
    lines = block.splitlines()
    prompts = [line[2:] for line in lines if line.startswith("$ ")]
    return "\n".join(prompts or lines)


def run_page(page: str, tmp_path: Path) -> tuple[str, Path]:
    """Everything that it shows, and the home that it ran in."""
    blocks = BLOCK.findall((CHECKOUT / page).read_text())
    assert blocks, f"nothing in {page} is marked"
    checkout, home, commands = tmp_path / "rewind", tmp_path / "home", tmp_path / "bin"
    shutil.copytree(CHECKOUT, checkout, ignore=LEFT_OUT, symlinks=True)
    home.mkdir()
    commands.mkdir()
    (commands / "python3").symlink_to(sys.executable)  # the tests' own, as `python3` may be another one
    env = {k: v for k, v in clean_env(home).items() if k not in ("REWIND_HOME", "GIT_CONFIG_GLOBAL")}
    env["PATH"] = f"{commands}:{home}/.local/bin:{os.environ['PATH']}"
    script = "\n".join(map(typed, blocks))
    done = subprocess.run(["bash", "-euo", "pipefail", "-x", "-c", script], cwd=checkout, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout, home


@pytest.mark.slow
def test_the_readme_can_be_followed(tmp_path: Path) -> None:
    text, home = run_page("README.md", tmp_path)
    project = home / "hello"
    # The tour ends after `redo`: what the agent did well is there, what it did badly is not.
    assert (project / "src/app.py").read_text() == 'print("Hello, friend!")\n'
    assert (project / ".env").read_text() == "KEY=secret\n"
    assert (project / "debug.log").exists() and not (project / "notes.txt").exists()
    assert "4 paths changed" in text and "friendlier greeting" in text


@pytest.mark.slow
def test_contributing_can_be_followed(tmp_path: Path) -> None:
    text, home = run_page("CONTRIBUTING.md", tmp_path)
    assert "rewind COMMAND" in text and not (home / ".rewind").exists()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_what_needs_the_network_is_not_marked(page: str) -> None:
    for block in BLOCK.findall((CHECKOUT / page).read_text()):
        assert not re.search(r"scripts/(test|e2e)|pip|npm|curl|--with-ui", block)
