"""Starts the server on the loopback interface only. The port is bound before the address is printed."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable

import uvicorn

from rewind.web.app import make_app
from rewind.web.server.key import FILE, remember, remembered
from rewind.web.server.socket import MOST_BYTES
from rewind.web.server.work import JobRunner

ADDRESS = "127.0.0.1"


def serve(root: str, port: int, ready: Callable[[str], None], home: str | None = None) -> None:
    """Run until it is interrupted. `ready` is called with the address, which includes the token."""
    gc.enable()  # `bin/rewind` turns it off for short commands
    runner = JobRunner(root, home)
    kept = runner.run_here(lambda controller: controller.project.path(FILE))
    token, last_port = remembered(kept)
    listening = _listen_again(port, last_port)
    try:
        actual: int = listening.getsockname()[1]
        remember(kept, token, actual)
        server = uvicorn.Server(make_config(runner, token, actual))
        ready(f"http://{ADDRESS}:{actual}/?token={token}")
        asyncio.run(server.serve(sockets=[listening]))
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        runner.finish()


def make_config(runner: JobRunner, token: str, port: int) -> uvicorn.Config:
    # No access log, because it would contain the token. A message over the limit is refused on arrival.
    return uvicorn.Config(make_app(runner, token, port), log_level="error", access_log=False,
                          http="h11", ws_max_size=MOST_BYTES, ws_max_queue=16, ws_per_message_deflate=False,
                          h11_max_incomplete_event_size=32 << 10, timeout_keep_alive=30,
                          limit_concurrency=200, timeout_graceful_shutdown=3, server_header=False,
                          date_header=False, proxy_headers=False, lifespan="off")


def _listen_again(port: int, last: int) -> socket.socket:
    """Use the port of the last time, if no other one is wanted and it is free."""
    if not port and last:
        try:
            return _listen(last)
        except OSError:
            pass
    return _listen(port)


def _listen(port: int) -> socket.socket:
    # If the protocol is named, asyncio sends small answers at once. Otherwise each one would wait 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port))
        found.listen(64)
    except BaseException:
        found.close()
        raise
    return found
