"""A project with conversations for the page: an agent that talks, writes files and calls hooks; a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from ui_forks import start_ui

from chat_scene import Claude
from make_transcripts import event_id, place, session_folder
from rewind.agents.registry import profile_for
from rewind.checkpoint.conversations.which_session import session_at
from rewind.controller import Controller
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.lines import open_transcript
from rewind_cli import CHECKOUT, clean_env, is_interrupted

CART = event_id(0xCA27)
HTML = "<img src=x onerror=\"window.hurt='%s'\"><script>window.hurt='%s'</script>"
NASTY_NAME = "<img src=x onerror=alert(1)>.txt"


class Agent:
    """A client of Claude Code with Rewind's hooks, in one session."""

    def __init__(self, home: Path, project: Path, session: str, title: str = "", ago: float = 7200) -> None:
        self.home, self.project = home, project
        self.talk = Claude(project, session)
        # Two conversations with the same events would be branches of each other.
        self.talk._count = int(session[:8], 16) * 1000
        self._first, self._began = self.talk._count, time.time() - ago
        self.talk._time = self._time  # type: ignore[method-assign]
        self._written = 0
        self.path = session_folder(home, "claude", project) / f"{session}.jsonl"
        if self.path.exists():
            with open_transcript(str(self.path)) as file:
                leaf = Tail(file, profile_for(str(self.path))).leaf()
                self.talk.here = leaf.id if leaf else None
        else:
            place(home, "claude", project, b"", session)
        if title:
            self.talk.title(title, "ai-title")
        (home / ".claude" / "sessions").mkdir(parents=True, exist_ok=True)

    def _time(self) -> str:
        at = self._began + 41 * (self.talk._count - self._first)
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))

    @property
    def session(self) -> str:
        return self.talk.session

    def flush(self) -> None:
        new = self.talk.lines[self._written:]
        self._written = len(self.talk.lines)
        with open(self.path, "ab") as file:
            file.write(b"".join(line + b"\n" for line in new))

    def turn(self, prompt: Any, files: Optional[dict[str, Optional[str]]] = None, answer: str = "Done.", *,
             thinking: str = "", run: Sequence[str] = (), hooks: bool = True) -> None:
        text = prompt if isinstance(prompt, str) else prompt[0]["text"]
        joined = {"promptId": f"{self.session[:8]}-{self.talk.prompts + 1}"}
        if hooks:
            self._hook("UserPromptSubmit", f"Before: {text[:60]}", promptText=text[:200], **joined)
        self.talk.prompt(prompt, **joined)
        if thinking:
            self.talk._assistant({"type": "thinking", "thinking": thinking, "signature": "x"})
        for name, content in (files or {}).items():
            self._write(name, content)
        if run:
            self._tool("Bash", {"command": run[0]}, run[1], failed=len(run) > 2)
        self.talk.answer(answer)
        self.talk.entry("system", subtype="turn_duration", durationMs=5, isMeta=False)
        self.flush()
        if hooks:
            self._hook("Stop", f"After: {text[:60]}", **joined)

    def _write(self, name: str, content: Optional[str]) -> None:
        path = self.project / name
        if content is None:
            self._tool("Bash", {"command": f"rm {name}"}, "")
            path.unlink()
            return
        self._tool("Write", {"file_path": str(path), "content": content}, "File written")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def _tool(self, name: str, given: dict[str, Any], result: str, failed: bool = False) -> None:
        call = f"toolu_{self.talk._count}"
        self.talk._assistant({"type": "tool_use", "id": call, "name": name, "input": given})
        self.talk.user([{"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}],
                       toolUseResult={"stdout": result})

    def _hook(self, event: str, description: str, **trigger: Any) -> None:
        controller = Controller(str(self.project))
        session = session_at(str(self.path), controller.project.home)
        found = {"event": event, "session": session.session_id, **trigger}
        controller.save(description, kind="auto", session=session, trigger=found)
        controller.close()


def open_shop(home: Path, project: Path) -> Agent:
    """Six turns: a cart, its tests, then a database that nobody wanted."""
    controller, _ = Controller.init(str(project), mode="project")
    controller.close()
    (project / "README.md").write_text("# Shop\n\nA small web shop.\n")
    agent = Agent(home, project, CART, "Build the cart of the shop")
    agent.turn("Add a shopping cart with add and remove", {"cart.py": "class Cart:\n    items = []\n"},
               FIRST_ANSWER, thinking="The shop has no cart yet. A list will do for now.")
    agent.turn("Write tests for it", {"tests/test_cart.py": "def test_add():\n    assert True\n"},
               "The tests pass, see `tests/test_cart.py`.", run=("pytest -q", "1 passed in 0.01s"))
    agent.turn("Style the cart", {"cart.css": ".cart { color: #333 }\n"}, "It is grey now.")
    agent.turn("Now rewrite it all with a database",
               {"cart.py": "import sqlite3\n", "db/schema.sql": "CREATE TABLE items (id);\n",
                "cart.css": None},
               "That was a large change.", run=("pytest -q", "FAILED tests/test_cart.py\n1 failed", "failed"))
    agent.turn("The tests fail, fix them", {"tests/test_cart.py": "def test_nothing():\n    pass\n"})
    agent.turn("Go on with the checkout", {"checkout.py": "def checkout(cart):\n    return True\n"})
    return agent


FIRST_ANSWER = """I added a **cart** module.

### What changed
- `cart.py` holds the items
- tests come next

| file | lines |
|---|---|
| cart.py | 2 |

```python
def total(items):
    return sum(i.price for i in items)  # in cents
```

See [the guide](https://example.com/guide)."""


class Server:
    """`rewind ui` as a process of its own."""

    def __init__(self, project: Path, home: Path) -> None:
        self.pid, self._out = start_ui(project, clean_env(home))
        line = self._out.readline().decode()
        assert line.startswith("Rewind is at http://127.0.0.1:"), line
        self.address = line.split()[-1]
        self.base = self.address.split("?")[0]

    def stop(self) -> None:
        if not self._out.closed:
            os.kill(self.pid, signal.SIGTERM)
            wait_for(lambda: not self._runs(), 90)
            self._out.close()

    def _runs(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


# `rewind restore`, which is killed before it exchanges the third file.
_KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv.pop(1))
from rewind.cli.main import main
from rewind.snapshot.apply import applier
exchange, left = applier.exchange, [2]
def counted(*names):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return exchange(*names)
applier.exchange = counted
main(sys.argv[1:])
"""


def interrupt_restore(project: Path, home: Path) -> str:
    """`rewind restore`, killed in the middle of it; returns the checkpoint. Files say `before` or `now`."""
    def write(text: str) -> None:
        for number in range(5):
            (project / f"page{number}.txt").write_text(text)

    write("before\n")
    controller = Controller(str(project))
    name = controller.save("With all pages").record.name
    controller.close()
    write("now\n")
    command = [sys.executable, "-I", "-c", _KILLED, str(CHECKOUT / "src"), "restore", name, "--code-only"]
    done = subprocess.run(command, cwd=project, env=clean_env(home), stdin=subprocess.DEVNULL,
                          capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert is_interrupted(project / ".agent" / "rewind")
    return name


def wait_for(what: Any, seconds: float = 15) -> None:
    """Until a file or a record says so; the page itself is waited for by Playwright."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def forks_in(home: Path, project: Path) -> list[Path]:
    folder = session_folder(home, "claude", project)
    return sorted((p for p in folder.glob("*.jsonl") if p.stem != CART), key=os.path.getmtime)
