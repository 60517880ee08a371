"""Five tasks in a project of months: find the turn that deleted a file, see all that it changed, rewind to
before it, go on in the real client, undo."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from big_shop import DELETED, GONE, LONG, TIDY, TURNS, make_big
from page_of import Rewind
from playwright.sync_api import Browser, expect
from shop import Server

from rewind.controller import Controller
from rewind_cli import CHECKOUT, clean_env

# Read now, for every test runs in an environment without it.
CLAUDE = os.environ.get("REWIND_E2E_CLAUDE", "")
MOST_ACTIONS = 6
pytestmark = pytest.mark.together


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Home and project, made once; whoever changes them takes that back."""
    top = tmp_path_factory.mktemp("big")
    home, project = top / "home", top / "shop"
    home.mkdir()
    project.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        wanted = clean_env(home)
        for key in set(os.environ) - set(wanted):
            patch.delenv(key)
        for key, value in wanted.items():
            patch.setenv(key, value)
        patch.setattr(os, "fsync", lambda fd: None)
        make_big(home, project)
    return home, project


@pytest.fixture
def opened(big: tuple[Path, Path], browser: Browser) -> Iterator[Rewind]:
    home, project = big
    server = Server(project, home)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = Rewind(context.new_page(), server)
    page.open()
    yield page
    context.close()
    server.stop()
    assert not page.complaints, page.complaints


def files(project: Path) -> dict[str, str]:
    return {str(p.relative_to(project)): p.read_text() for p in sorted(project.rglob("*.py"))}


def test_the_project_is_as_large_as_it_says(
        big: tuple[Path, Path], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home, project = big
    for key, value in clean_env(at_home).items():
        monkeypatch.setenv(key, value)
    controller = Controller(str(project))
    infos = controller.sessions()
    assert len(infos) == 12 and controller.extent()[0] >= 297
    assert max(info.file.size for info in infos) >= 56 << 20
    controller.close()


def test_five_tasks(opened: Rewind, big: tuple[Path, Path]) -> None:
    page, (home, project) = opened.page, big
    before = files(project)
    actions = 0

    # 1. find the turn that deleted a file
    page.get_by_role("searchbox", name="Filter sessions").fill(Path(GONE).name)
    actions += 1
    page.keyboard.press("Enter")
    actions += 1
    page.get_by_role("link", name=f"{GONE} deleted").click(timeout=90_000)
    actions += 1

    # 2. see all that it changed
    expect(opened.title(f"Turn {DELETED}")).to_be_visible()
    expect(page.locator(".review-link")).to_have_count(2)
    expect(page.locator(f'.review-file[data-path="{GONE}"] .line.del').first).to_contain_text("def invoice")

    # 3. rewind to before it, with the code
    page.get_by_role("button", name="Rewind to before this").click()
    actions += 1
    expect(opened.dialog.get_by_role("radio", name="Code + conversation")).to_be_checked()
    expect(opened.dialog).to_contain_text(GONE.split("/")[1])
    opened.dialog.get_by_role("button", name="Create Branch").click()
    actions += 1
    expect(opened.panel).to_contain_text(f"Rewound to before turn {DELETED}")
    assert actions <= MOST_ACTIONS
    assert (project / GONE).read_text().startswith("def invoice")
    expect(opened.panel).to_contain_text(TIDY)
    expect(opened.counter).to_have_text(f"Turn {DELETED - 1} of {DELETED - 1}")

    # 4. go on: the command is one key away
    fork = page.url.split("/session/")[1].split("/")[0]
    expect(opened.panel).to_contain_text(f"claude --resume {fork}")
    if CLAUDE:
        goes_on_in_the_client(home, project, fork)

    # 5. undo
    page.keyboard.press("u")
    expect(opened.dialog).to_contain_text("Undo this?")
    opened.dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(opened.panel).to_contain_text("Undone")
    assert files(project) == before
    if CLAUDE:
        opened.go(f"session/{LONG}")  # the client went on in the branch, so that stays
    # Else it is gone, and the page is back where it came from.
    expect(opened.title("Build the billing of the shop")).to_be_visible()
    expect(opened.counter).to_have_text(f"Turn {TURNS} of {TURNS}")
    assert LONG in page.url
    opened.complaints.clear()  # the page may have asked for a turn of the branch while that was undone


def goes_on_in_the_client(home: Path, project: Path, fork: str) -> None:
    """The model is told everything up to the cut, and nothing after it."""
    sys.path.insert(0, str(CHECKOUT / "tests" / "e2e"))
    from claude_client import Claude
    from mock_api import MockApi
    from scripted import claude_script, prompt
    from stage import Stage

    with MockApi(claude_script(project)) as api:
        heard = Claude(Path(CLAUDE).resolve(), Stage(home, project), api).hear(fork, prompt("NEXT"))
    assert prompt("NEXT") in heard[-1]
    assert any(f"Question {DELETED - 1}:" in line for line in heard)
    assert not any(TIDY in line or f"Question {DELETED + 1}:" in line for line in heard)
