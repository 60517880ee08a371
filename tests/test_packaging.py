"""The wheel holds everything, and works where nothing else is installed. Needs `hatchling`; no network."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path

import pytest

from rewind import __version__
from rewind_cli import CHECKOUT, clean_env

pytestmark = pytest.mark.slow

BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed: packaging is NOT tested")
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy, as a build must not depend on what git thinks of this checkout, nor leave anything in it.
    source = folder / "source"
    shutil.copytree(CHECKOUT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source / name)
    done = subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=source, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("rewind/")}
    source = CHECKOUT / "src"
    # The plugin's files come by a link.
    walked = (Path(at) / name for at, _, names in os.walk(source / "rewind", followlinks=True)
              for name in names)
    wanted = {str(path.relative_to(source)) for path in walked if "__pycache__" not in path.parts}
    assert inside == wanted
    for part in ("agents/profiles/claude.json", "config/tiers/balanced.json", "py.typed",
                 "config/rewind-checkpoint-ignore.json", "cli/topics/safety.txt",
                 "install/plugin_hooks/register.tsx"):
        assert f"rewind/{part}" in inside
    assert any(name.startswith("rewind/web/static/") for name in inside)


def test_the_version_is_in_one_place(wheel: Path) -> None:
    assert wheel.name.startswith(f"agentrewind-{__version__}-py3-none-any")
    text = (CHECKOUT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in text and not re.search(r"^version *=", text, re.M)


def test_the_core_needs_no_other_package(wheel: Path) -> None:
    files = zipfile.ZipFile(wheel)
    metadata = files.read(next(n for n in files.namelist() if n.endswith("/METADATA"))).decode()
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert needs and all("extra ==" in line for line in needs), needs


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_wheel(wheel, tmp_path_factory.mktemp("venv"))


def install_wheel(wheel: Path, venv: Path) -> Path:
    """The command, in a virtual environment that has nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    python = str(venv / "bin" / "python")
    options = ["install", "-q", "--no-deps", "--no-index", str(wheel)]
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for command in ([sys.executable, "-m", "pip", "--python", python, *options],
                    ["uv", "pip", *options, "--python", python]):
        if shutil.which(command[0]) and subprocess.run(command, env=env, capture_output=True,
                                                       timeout=120).returncode == 0:
            return venv / "bin" / "rewind"
    pytest.skip("neither a pip of 22.3 or newer nor uv here: the installed wheel is NOT tested")


@pytest.mark.slow
def test_the_installed_command_works(installed: Path, project: Path, home: Path) -> None:
    def run(*args: str) -> str:
        done = subprocess.run([str(installed), *args], cwd=project, env=clean_env(home), capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, (args, done)
        return done.stdout

    assert run("--version") == f"rewind {__version__}\n"
    assert "Go back" in run("help") and "undo-restore" in run("help", "safety")
    (project / "a.txt").write_text("one\n")
    run("init")
    (project / "a.txt").write_text("two\n")
    run("save", "second")
    assert len(run("list").splitlines()) == 2
    run("restore", "prev")
    assert (project / "a.txt").read_text() == "one\n"
    assert run("sessions", "list") and "balanced" in run("config")


def test_no_document_promises_a_package_that_is_not_published() -> None:
    promise = re.compile(r"(pip|pipx|uv pip|uv tool) install [^`\n]*agentrewind")
    texts = [CHECKOUT / "README.md", *(CHECKOUT / "docs").glob("*.md"), *(CHECKOUT / "src").rglob("*.py")]
    assert [str(path) for path in texts if promise.search(path.read_text())] == []


# from a checkout, through a source distribution, to hooks that outlive what installed them

SDIST = "import sys; from hatchling.build import build_sdist; print(build_sdist(sys.argv[1]))"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a checkout with its links, as git brings it."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: the sdist is NOT tested")
    folder = tmp_path_factory.mktemp("sdist")
    skip = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".e2e", ".*_cache", "dist", "build")
    shutil.copytree(CHECKOUT, folder / "checkout", symlinks=True, ignore=skip)
    done = subprocess.run([sys.executable, "-c", SDIST, str(folder)], cwd=folder / "checkout",
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def test_the_sdist_holds_the_plugin_and_all_that_the_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    for part in ("install.sh", "plugin/hooks/register.tsx", "plugin/hooks/smart-checkpoint",
                 ".claude-plugin/marketplace.json", "src/rewind/cli/main.py", "tests/conftest.py",
                 "src/rewind/install/plugin_hooks/register.tsx", "docs/plugin.md"):
        assert part in names, part


@pytest.fixture(scope="module")
def wheel_of_sdist(sdist: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("from-sdist")
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(folder)], check=True, timeout=60)
    source, = (path for path in folder.iterdir() if path.is_dir())
    done = subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=source, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def test_the_sdist_gives_the_same_wheel(wheel: Path, wheel_of_sdist: Path) -> None:
    def files(path: Path) -> dict[str, bytes]:
        opened = zipfile.ZipFile(path)
        return {name: opened.read(name) for name in opened.namelist() if name.startswith("rewind/")}

    assert files(wheel_of_sdist) == files(wheel)


@pytest.mark.slow
def test_what_a_tool_installs_outlives_the_tool(wheel_of_sdist: Path, project: Path, home: Path,
                                                tmp_path: Path) -> None:
    command = install_wheel(wheel_of_sdist, tmp_path / "venv")
    env = {**clean_env(home), "REWIND_HOME": str(home / ".rewind")}
    (home / ".claude").mkdir()
    subprocess.run([str(command), "install", "--yes"], env=env, check=True, capture_output=True, timeout=120)
    shutil.rmtree(tmp_path / "venv")
    assert (home / ".claude" / "skills" / "rewind" / "hooks" / "register.tsx").is_file()
    (project / "a.txt").write_text("one\n")
    subprocess.run(["git", "init", "-q"], cwd=project, env=env, check=True)
    transcript = home / ".claude" / "projects" / "-p" / "0b7c1c52-5d0e-4a63-9b8a-2f1d3a6c9e41.jsonl"
    payload = {"session_id": transcript.stem, "transcript_path": str(transcript), "cwd": str(project),
               "hook_event_name": "UserPromptSubmit", "prompt": "do it", "prompt_id": "1"}
    subprocess.run([str(home / ".rewind" / "system" / "smart-checkpoint"), "user-prompt-submit"], cwd=project,
                   env={**env, "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(project)}, check=True, timeout=60,
                   input=json.dumps(payload).encode())
    done = subprocess.run([str(home / ".local" / "bin" / "rewind"), "list", "--json"], cwd=project, env=env,
                          check=True, capture_output=True, timeout=60)
    assert len(json.loads(done.stdout)["checkpoints"]) == 1


# with the packages of the extra `ui` of this environment, for an index is not at hand everywhere

@pytest.fixture
def unpacked(wheel: Path, tmp_path: Path) -> list[str]:
    """The command that runs what is in the wheel, and not the checkout."""
    folder = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(folder)
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rewind.cli.main import run; run()"
    return [sys.executable, "-I", "-c", start, str(folder)]


@pytest.mark.slow
def test_the_page_of_the_wheel_is_served(unpacked: list[str], project: Path, home: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed: the page of the wheel is NOT tested")
    env = clean_env(home)
    subprocess.run([*unpacked, "init"], cwd=project, env=env, check=True, capture_output=True, timeout=60)
    with subprocess.Popen([*unpacked, "ui", "--no-open"], cwd=project, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with opener.open(address, timeout=90) as page:
                scripts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.read().decode())
            assert scripts
            for name in scripts:
                with opener.open(address.split("/?")[0] + name, timeout=90) as file:
                    assert file.read()
        finally:
            process.terminate()


@pytest.mark.slow
def test_the_terminal_ui_of_the_wheel_starts(unpacked: list[str], project: Path, home: Path) -> None:
    pytest.importorskip("textual", reason="textual is not installed: the wheel's terminal UI is NOT tested")
    env = {**clean_env(home), "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    subprocess.run([*unpacked, "init"], cwd=project, env=env, check=True, capture_output=True, timeout=60)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*unpacked, "tui"], cwd=project, env=env, stdin=theirs, stdout=theirs,
                               stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen, asked = b"", False
    try:
        while b"First checkpoint" not in seen:
            seen += os.read(ours, 65536)
            if b"\x1b]11;?" in seen and not asked:
                os.write(ours, b"\x1b[?62c")  # a terminal that does not tell its background
                asked = True
        while process.poll() is None:
            os.write(ours, b"q")  # until it is past reading the story
            if select.select([ours], [], [], 0.2)[0]:
                os.read(ours, 65536)
    except OSError:
        pass  # it has closed its end
    finally:
        process.kill() if process.poll() is None and b"First checkpoint" not in seen else None
        code = process.wait(60)
        os.close(ours)
    assert b"First checkpoint" in seen and code == 0, (code, seen[-500:])
