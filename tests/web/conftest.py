"""A project with conversations, and the page's server on it: in this process, or as a real one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from cli.conftest import InProcess, cli  # noqa: F401 - the fixture
from web.scene import Shop

_MISSING = [name for name in ("starlette", "uvicorn", "websockets", "httpx", "markdown_it", "pygments")
            if importlib.util.find_spec(name) is None]


class _Unavailable(pytest.Module):
    def collect(self) -> Any:
        pytest.skip(f"the web page is NOT tested here: no {', '.join(_MISSING)}", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> Optional[pytest.Module]:
    return _Unavailable.from_parent(parent, path=module_path) if _MISSING else None


@pytest.fixture
def shop(cli: InProcess) -> Shop:  # noqa: F811
    """A session of four turns with the checkpoints that hooks make, and one of another project."""
    return Shop(cli)


@pytest.fixture
def site(shop: Shop) -> Iterator[Any]:
    """The application in this process, opened with its key."""
    from web.site import Site

    with Site(shop) as site:
        yield site


@pytest.fixture
def server(shop: Shop) -> Iterator[Any]:
    """A real process, as `rewind ui` starts it."""
    from web.server import Server

    with Server(shop.cli.project, shop.cli.env) as server:
        yield server


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "BROWSER", "true")
