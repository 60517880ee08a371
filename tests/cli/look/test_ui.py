"""`rewind ui` starts the page's server, or says how to get it."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path

import pytest

from rewind_cli import Rewind

pytestmark = pytest.mark.slow

HAS_PACKAGES = all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn", "websockets", "httpx"))
with_packages = pytest.mark.skipif(not HAS_PACKAGES, reason="the extra `ui` is NOT installed here")


def test_without_the_extra_one_sentence_says_how_to_get_it(rewind: Rewind) -> None:
    rewind.init()
    error = rewind.fails(1, "ui", hint="`rewind install --with-ui`, or in a checkout `pipx install '.[ui]'`")
    assert error == "error: The packages of the web page are not installed."


def test_a_directory_that_is_no_project_is_said_first(rewind: Rewind) -> None:
    rewind.fails(10, "ui", "--no-open", hint="rewind init")


@with_packages
def test_the_first_line_is_the_address_and_ctrl_c_ends_it_cleanly(rewind: Rewind) -> None:
    from web.server import Server

    rewind.init()
    with Server(rewind.project, rewind.env) as server:
        with server.client() as client:
            assert client.get("/api/project").json()["root"] == str(rewind.project.resolve())
        code, err = server.interrupt()
    assert code == 0 and "Traceback" not in err and "error" not in err


@with_packages
def test_programs_get_the_address_as_json(rewind: Rewind) -> None:
    import json
    import subprocess
    import sys

    from rewind_cli import CHECKOUT

    rewind.init()
    with subprocess.Popen([sys.executable, "-m", "rewind", "ui", "--json", "--no-open"], cwd=rewind.project,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**rewind.env, "PYTHONPATH": str(CHECKOUT / "src")}) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        process.kill()
    assert address.startswith("http://127.0.0.1:") and "/?token=" in address


@with_packages
def test_ctrl_c_ends_it_with_a_page_open(rewind: Rewind) -> None:
    from websockets.sync.client import connect

    from web.server import Server

    rewind.init()
    with Server(rewind.project, rewind.env) as server, connect(
            server.socket_address, additional_headers={"Cookie": server.cookie}, origin=server.origin,
            proxy=None) as page:
        page.send("{}")
        page.recv(timeout=90)
        code, err = server.interrupt()
    assert code == 0 and "Traceback" not in err


@with_packages
def test_the_port_may_be_chosen_and_a_taken_one_is_said(rewind: Rewind, tmp_path: Path) -> None:
    import subprocess
    import sys

    from rewind_cli import CHECKOUT
    from web.server import Server

    rewind.init()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Server(rewind.project, rewind.env, "--port", str(port)) as server:
        assert server.port == port
        for wanted in (port, 99999):
            done = subprocess.run([sys.executable, "-m", "rewind", "ui", "--no-open", "--port", str(wanted)],
                                  cwd=rewind.project, capture_output=True, timeout=60,
                                  env={**rewind.env, "PYTHONPATH": str(CHECKOUT / "src")})
            assert done.returncode == 1 and not done.stdout
            assert f"error: Port {wanted} cannot be used".encode() in done.stderr
