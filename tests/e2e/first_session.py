"""A first session as in the README, all in a terminal: install Rewind, let the real Claude Code work in six
turns, one of which deletes `src` and `.env`, find that turn, go back to before it, and resume."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Callable, NamedTuple

from claude_client import Claude, ClaudeScreen
from mock_api import Block, MockApi, Reply, Script, call, say
from screen import Screen, wait_until
from stage import Stage

from rewind_cli import CHECKOUT, git

PROMPTS = ["Write a small shop server in src/server.py", "Add a health check to the server",
           "Put the API key into .env and read it from there", "Add a test for the health check",
           "Please clean up the repository", "Write a README"]
NEXT = "Remove unused imports only, and delete nothing"
BAD = 5  # the turn that deletes too much
_PERMISSIONS = {"permissions": {"allow": ["Bash", "Write", "Edit"]}}


def script(project: Path) -> Script:
    """What the model does at each prompt."""
    def write(name: str, text: str) -> Block:
        return call("Write", file_path=str(project / name), content=text)

    health = 'def health():\n    return {"status": "ok"}\n'
    clean = call("Bash", command="rm -rf src .env", description="Remove what is not needed")
    done = [[write("src/server.py", "import os\n\n\ndef serve():\n    return os.getpid()\n")],
            [write("src/health.py", health)],
            [write(".env", "API_KEY=secret\n"), write("src/settings.py", "import os\n\nKEY = os.environ\n")],
            [write("tests/test_health.py", "from src.health import health\n")],
            [clean], [write("README.md", "# Shop\n")]]
    return {prompt: [Reply(calls), say("Done.")] for prompt, calls in zip(PROMPTS, done)}


class Step(NamedTuple):
    typed: str
    seen: str
    seconds: float


class FirstSession:
    """`clock` measures the time of each step. A test does not need it."""

    def __init__(self, program: Path, stage: Stage, api: MockApi,
                 clock: Callable[[], float] = lambda: 0.0) -> None:
        self.stage = stage
        self.client = Claude(program, stage, api)
        self.steps: list[Step] = []
        self._clock = clock
        settings = stage.home / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps(_PERMISSIONS))
        git(stage.project, "init", "-q", "-b", "main", home=stage.home)
        (stage.project / ".gitignore").write_text(".env\n")

    def play(self) -> None:
        env = {**self.client.env, "PS1": "$ ", "REWIND_HOME": str(self.stage.home / ".rewind")}
        with Screen(["bash", "--norc", "--noprofile", "-i"], env, CHECKOUT) as self.screen:
            self.run("./install.sh --yes")
            self.run('export PATH="$HOME/.local/bin:$PATH"')
            self.run(f"cd {self.stage.project}")
            self.talk("claude", PROMPTS)
            self.run("ls -A")
            self.run("rewind list")
            self.run(f"rewind show t{BAD}")
            self.go_back(f"rewind back {len(PROMPTS) - BAD + 1} --both", NEXT)
            self.run("ls -A")
            self.run("rewind list")

    def run(self, command: str) -> str:
        """A command in the shell, and what it prints."""
        began = self._clock()
        self._type(command)
        wait_until(self._is_at_prompt, self.screen.text)
        return self._add(command, began)

    def talk(self, command: str, prompts: list[str]) -> None:
        """Open the client from the shell, send prompts, and close it."""
        began = self._clock()
        self._type(command)
        self._say(prompts)
        self.steps.append(Step(command, "\n".join(f"❯ {prompt}" for prompt in [*prompts, "/exit"]),
                               self._clock() - began))

    def go_back(self, command: str, prompt: str) -> None:
        """Go back, press Enter at the question whether to resume, and send a prompt in the fork."""
        began = self._clock()
        self._type(command)
        self.screen.wait("Resume now? [Y/n]")
        self._add(command, began)
        began = self._clock()
        self.screen.press("Enter")
        self._say([prompt])
        self.steps.append(Step("⏎", f"❯ {prompt}\n❯ /exit", self._clock() - began))

    def _type(self, command: str) -> None:
        self.screen.press("C-l")
        wait_until(lambda: self.screen.text().strip() == "$", self.screen.text)
        self.screen.type(command, mark="$")

    def _say(self, prompts: list[str]) -> None:
        opened = ClaudeScreen(self.client, self.screen)
        opened.settle()
        for prompt in prompts:
            opened.ask(prompt)
        self.screen.type("/exit")
        wait_until(self._is_at_prompt, self.screen.text)

    def _is_at_prompt(self) -> bool:
        lines = [line.rstrip() for line in self.screen.text().splitlines() if line.strip()]
        return bool(lines) and lines[-1] == "$" and not self.client.live()

    def _add(self, command: str, began: float) -> str:
        lines = [line.rstrip() for line in self.screen.text().splitlines() if line.strip()]
        seen = "\n".join(line for line in lines if line not in ("$", f"$ {command}"))
        self.steps.append(Step(command, seen, self._clock() - began))
        return seen

    def seen(self, command: str) -> str:
        """What the last such command printed."""
        return next(step.seen for step in reversed(self.steps) if step.typed == command)

    def heard(self) -> list[str]:
        """What the model was told with the prompt after going back."""
        return self.client.heard(NEXT)


def as_text(session: FirstSession) -> str:
    """The session as text for a document, with paths of a made-up home but real ids and times."""
    home, lines = str(session.stage.home), []
    for step in session.steps:
        seen = step.seen.replace(str(session.stage.project), "~/shop").replace(home, "~")
        typed = step.typed.replace(str(session.stage.project), "~/shop")
        typed = typed if typed == "⏎" else f"$ {typed}"
        lines.append(f"{typed:<60} # {step.seconds:.1f} s" if step.seconds else typed)
        lines += [re.sub(r"/tmp/\S*/", "~/", line) for line in seen.splitlines()]
    return "\n".join(lines) + "\n"


now = time.monotonic
