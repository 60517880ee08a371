"""The real clients, and conversations that are recorded with them once for all tests.

`scripts/e2e` installs the clients and names them in the environment. Without these variables nothing is
collected.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, NamedTuple, Union

import pytest

pytest.register_assert_rewrite("claude_client", "codex_client", "codex_screen", "conversation",
                               "droid_client", "gemini_client", "gemini_screen", "inside", "installed",
                               "kinds", "opencode_client", "page", "screen")

from claude_client import Claude  # noqa: E402
from codex_client import Codex  # noqa: E402
from conversation import Conversation, Recording  # noqa: E402
from deal import deal  # noqa: E402
from droid_client import Droid  # noqa: E402
from gemini_api import GeminiApi  # noqa: E402
from gemini_client import Gemini  # noqa: E402
from installed import Installed  # noqa: E402
from mock_api import MockApi  # noqa: E402
from responses_api import ResponsesApi  # noqa: E402
from scripted import (  # noqa: E402
    PLAIN,
    claude_script,
    codex_script,
    droid_script,
    gemini_script,
    prompt,
)
from shared import recorded_once  # noqa: E402
from stage import Stage, copy_stage, make_repository, make_stage  # noqa: E402

from rewind_cli import Rewind  # noqa: E402

# Read on import, because every test runs in an environment without these variables.
CLAUDE = os.environ.get("REWIND_E2E_CLAUDE", "")
DROID = os.environ.get("REWIND_E2E_DROID", "")
CODEX = os.environ.get("REWIND_E2E_CODEX", "")
GEMINI = os.environ.get("REWIND_E2E_GEMINI", "")
OPENCODE = os.environ.get("REWIND_E2E_OPENCODE", "")
ALL = os.environ.get("REWIND_E2E_ALL") == "1"
collect_ignore_glob = [] if CLAUDE or DROID or CODEX or GEMINI or OPENCODE else ["test_*.py"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests of the whole run, including those of the page and of the package."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = deal(items, workers)


PlayClaude = Callable[[Recording], Conversation[Claude]]
PlayDroid = Callable[[Recording], Conversation[Droid]]
PlayCodex = Callable[[Recording], Conversation[Codex]]
PlayGemini = Callable[[Recording], Conversation[Gemini]]


@pytest.fixture(scope="session", autouse=True)
def library_at_hand(ready_library: Path) -> None:
    Installed.library = ready_library


@pytest.fixture(scope="session")
def claude_program() -> Path:
    if not CLAUDE:
        pytest.skip("no Claude Code here")
    return Path(CLAUDE).resolve()


@pytest.fixture(scope="session")
def droid_program() -> Path:
    if not DROID:
        pytest.skip("no Droid here")
    return Path(DROID).resolve()


@pytest.fixture(scope="session")
def codex_program() -> Path:
    if not CODEX:
        pytest.skip("no Codex here")
    return Path(CODEX).resolve()


@pytest.fixture(scope="session")
def opencode_program() -> Path:
    if not OPENCODE:
        pytest.skip("no opencode here")
    return Path(OPENCODE).resolve()


@pytest.fixture(scope="session")
def gemini_program() -> Path:
    if not GEMINI:
        pytest.skip("no Gemini CLI here")
    return Path(GEMINI).resolve()


@pytest.fixture(scope="session")
def tmux() -> None:
    if not shutil.which("tmux"):
        pytest.skip("no tmux here")


@pytest.fixture(scope="session")
def long_run() -> None:
    if not ALL:
        pytest.skip("only with scripts/e2e --all")


@pytest.fixture
def stage(home: Path, project: Path) -> Stage:
    return Stage(home, project)


# Claude Code

@pytest.fixture
def claude_api(project: Path) -> Iterator[MockApi]:
    with MockApi(claude_script(project)) as api:
        yield api


@pytest.fixture
def claude(claude_program: Path, stage: Stage, claude_api: MockApi) -> Claude:
    """The client in a new repository, without a conversation."""
    make_repository(stage)
    return Claude(claude_program, stage, claude_api)


@pytest.fixture
def play_claude(claude_program: Path, stage: Stage, claude_api: MockApi, rewind: Rewind) -> PlayClaude:
    """Copies a recorded conversation into this test's home, and initializes Rewind in its project."""
    def play(recording: Recording) -> Conversation[Claude]:
        copy_stage(recording.stage, stage)
        rewind.init()
        return Conversation(Claude(claude_program, stage, claude_api), rewind, recording.session)
    return play


@pytest.fixture(scope="session")
def plain(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Four prompts in print mode."""
    def record(folder: Path) -> list[Recording]:
        stage = make_stage(folder)
        with MockApi(claude_script(stage.project)) as api:
            return [ask_all(Claude(claude_program, stage, api))]
    return recorded_once(tmp_path_factory, "claude", record)[0]


def ask_all(client: Union[Claude, Codex, Gemini]) -> Recording:
    """Send each prompt with its own process."""
    session, told = "", []
    for name in PLAIN:
        session = client.ask(prompt(name), session)
        told.append(client.heard(prompt(name)))
    return Recording(client.stage, session, told)


class OnScreen(NamedTuple):
    rewound: Recording
    compacted: Recording


@pytest.fixture(scope="session")
def on_screen(claude_program: Path, tmux: None, tmp_path_factory: pytest.TempPathFactory) -> OnScreen:
    """One interactive session, in which the client's own /rewind takes back prompts. Later a /compact."""
    found = recorded_once(tmp_path_factory, "screen", lambda at: record_on_screen(claude_program, at))
    return OnScreen(*found)


def record_on_screen(program: Path, folder: Path) -> list[Recording]:
    for name in ("then", "later"):
        (folder / name).mkdir()
    then, stage = make_stage(folder / "then"), make_stage(folder / "later")
    with MockApi(claude_script(stage.project)) as api, Claude(program, stage, api).open() as screen:
        told = [screen.ask(prompt("PAIR"))]
        screen.ask(prompt("WRONG"))
        screen.ask(prompt("WORSE"))
        screen.rewind_before(prompt("WRONG"))
        told += [screen.ask(prompt("AFTER")), screen.ask(prompt("MORE"))]
        session = screen.session
        copy_stage(stage, then)
        rewound = Recording(then, session, list(told))
        screen.compact()
        told += [screen.ask(prompt("LATER")), screen.ask(prompt("LAST"))]
    return [rewound, Recording(stage, session, told)]


@pytest.fixture(scope="session")
def rewound(on_screen: OnScreen) -> Recording:
    """PAIR, then WRONG and WORSE, which were taken back, then AFTER and MORE."""
    return on_screen.rewound


@pytest.fixture(scope="session")
def compacted(on_screen: OnScreen) -> Recording:
    """The same, then a compaction, then LATER and LAST."""
    return on_screen.compacted


# Droid

@pytest.fixture
def droid_api(project: Path) -> Iterator[MockApi]:
    with MockApi(droid_script(project)) as api:
        yield api


@pytest.fixture
def droid(droid_program: Path, stage: Stage, droid_api: MockApi) -> Droid:
    """The client in a new repository, without a conversation."""
    make_repository(stage)
    return Droid(droid_program, stage, droid_api)


@pytest.fixture
def play_droid(droid_program: Path, stage: Stage, droid_api: MockApi, rewind: Rewind) -> PlayDroid:
    def play(recording: Recording) -> Conversation[Droid]:
        copy_stage(recording.stage, stage)
        rewind.init()
        return Conversation(Droid(droid_program, stage, droid_api), rewind, recording.session)
    return play


@pytest.fixture(scope="session")
def plain_droid(droid_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Four prompts."""
    return recorded_once(tmp_path_factory, "droid", lambda at: record_droid(droid_program, at, PLAIN))[0]


@pytest.fixture(scope="session")
def compacted_droid(droid_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Droid compacts by itself at the end of the second turn, in the same file."""
    names = ["PAIR", "LONG", "LATER", "LAST"]
    return recorded_once(tmp_path_factory, "compacted", lambda at: record_droid(droid_program, at, names))[0]


def record_droid(program: Path, folder: Path, names: list[str]) -> list[Recording]:
    stage = make_stage(folder)
    with MockApi(droid_script(stage.project)) as api, Droid(program, stage, api).open() as opened:
        told = [opened.ask(prompt(name)) for name in names]
    return [Recording(stage, opened.session, told)]


# Codex

@pytest.fixture
def codex_api(project: Path) -> Iterator[ResponsesApi]:
    with ResponsesApi(codex_script()) as api:
        yield api


@pytest.fixture
def codex(codex_program: Path, stage: Stage, codex_api: ResponsesApi) -> Codex:
    """The client in a new repository, without a conversation."""
    make_repository(stage)
    return Codex(codex_program, stage, codex_api)


@pytest.fixture
def play_codex(codex_program: Path, stage: Stage, codex_api: ResponsesApi, rewind: Rewind) -> PlayCodex:
    def play(recording: Recording) -> Conversation[Codex]:
        copy_stage(recording.stage, stage)
        rewind.init()
        return Conversation(Codex(codex_program, stage, codex_api), rewind, recording.session)
    return play


@pytest.fixture(scope="session")
def plain_codex(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Four prompts."""
    def record(folder: Path) -> list[Recording]:
        with ResponsesApi(codex_script()) as api:
            return [ask_all(Codex(codex_program, make_stage(folder), api))]
    return recorded_once(tmp_path_factory, "codex", record)[0]


# Gemini CLI

@pytest.fixture
def gemini_api(project: Path) -> Iterator[GeminiApi]:
    with GeminiApi(gemini_script(project)) as api:
        yield api


@pytest.fixture
def gemini(gemini_program: Path, stage: Stage, gemini_api: GeminiApi) -> Gemini:
    """The client in a new repository, without a conversation."""
    make_repository(stage)
    return Gemini(gemini_program, stage, gemini_api)


@pytest.fixture
def play_gemini(gemini_program: Path, stage: Stage, gemini_api: GeminiApi, rewind: Rewind) -> PlayGemini:
    def play(recording: Recording) -> Conversation[Gemini]:
        copy_stage(recording.stage, stage)
        rewind.init()
        return Conversation(Gemini(gemini_program, stage, gemini_api), rewind, recording.session)
    return play


@pytest.fixture(scope="session")
def plain_gemini(gemini_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Four prompts."""
    def record(folder: Path) -> list[Recording]:
        stage = make_stage(folder)
        with GeminiApi(gemini_script(stage.project)) as api:
            return [ask_all(Gemini(gemini_program, stage, api))]
    return recorded_once(tmp_path_factory, "gemini", record)[0]
