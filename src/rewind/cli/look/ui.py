"""Show the project on a web page: sessions, turns, branches, checkpoints, and the way back to each of them.

The page is served to this machine alone, for as long as the command runs. The address holds a key: whoever
has it can rewind your project, so keep it to yourself. Press Ctrl-C to stop.
"""

from __future__ import annotations

import os
import sys

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.parse.commands import load_room
from rewind.errors import DONE, PortTaken, UiMissing

summary = "show sessions, branches and checkpoints on a web page"
examples = ("rewind ui", "rewind ui --port 8765 --no-open")


def arguments(parser: Parser) -> None:
    parser.add_argument("--port", type=int, default=0, metavar="N", help="listen there (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")


def run(args: Args) -> int:
    controller = open_controller(args)
    root, home = controller.project.root, controller.project.home
    controller.close()
    server = load_room("rewind.web.serve")
    if server is None:
        raise UiMissing()
    try:
        server.serve(root, args.port, lambda address: _ready(address, args), home)
    except OSError as error:
        raise PortTaken(port=args.port, reason=error.strerror or error)
    except OverflowError:
        raise PortTaken(port=args.port, reason="there is no such port")
    return DONE


def _ready(address: str, args: Args) -> None:
    answer(args, {"address": address}, f"Rewind is at {address}")
    sys.stdout.flush()
    note("Press Ctrl-C to stop.")
    if not args.no_open and _has_screen():
        import webbrowser

        webbrowser.open(address)


def _has_screen() -> bool:
    """Without a screen, `webbrowser` would start a text browser in the terminal."""
    return sys.platform == "darwin" or any(os.environ.get(key) for key in ("DISPLAY", "WAYLAND_DISPLAY",
                                                                           "BROWSER", "WSL_DISTRO_NAME"))
