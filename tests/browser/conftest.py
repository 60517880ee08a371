"""A real browser at the real page.

Collected only when REWIND_BROWSER is set, for it needs Chromium, playwright and the packages of `rewind ui`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("shop", "page_of")

from page_of import Rewind  # noqa: E402
from shop import Agent, Server, open_shop  # noqa: E402
from which_chromium import CHROMIUM  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Read now, for every test runs in an environment without it.
WANTED = os.environ.get("REWIND_BROWSER", "") not in ("", "0")
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def missing() -> str:
    """What is not here, in words for the person who reads why nothing ran."""
    lacks = [name for name in ("playwright", "starlette", "uvicorn", "websockets")
             if importlib.util.find_spec(name) is None]
    if not CHROMIUM:
        lacks.append("chromium (or REWIND_CHROMIUM with its path)")
    return ", ".join(lacks)


# Without them the tests could not even be imported; test_needs.py then says what was left out.
collect_ignore_glob = [] if WANTED and not missing() else ["test_[!n]*.py"] if WANTED else ["test_*.py"]


@pytest.fixture
def needs() -> str:
    return missing()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # two cores, shared with other tests
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def agent(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """The client in a project with a conversation of six turns."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)  # no test here is about losing power
        return open_shop(home, project)


@pytest.fixture
def server(home: Path, project: Path, agent: Agent, browser: Browser) -> Iterator[Server]:
    server = Server(project, home)
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Rewind]:
    context = browser.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = Rewind(context.new_page(), server)
    page.open()
    yield page
    context.close()
    assert not page.complaints, page.complaints


@pytest.fixture
def phone(browser: Browser, server: Server) -> Iterator[Rewind]:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    page = Rewind(context.new_page(), server)
    page.open()
    yield page
    context.close()
    assert not page.complaints, page.complaints
