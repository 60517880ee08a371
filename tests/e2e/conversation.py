"""A recorded conversation, and its copy in a test with Rewind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, Union

from claude_client import Claude
from codex_client import Codex
from droid_client import Droid
from gemini_client import Gemini
from scripted import prompt
from stage import Stage

from rewind_cli import Rewind

NEXT = f"user: {prompt('NEXT')}"
Client = TypeVar("Client", bound=Union[Claude, Droid, Codex, Gemini])


class Recording(NamedTuple):
    """A session as the client left it, and what the model was told at each prompt, oldest first.

    Prompts that were taken back in the client are not included.
    """

    stage: Stage
    session: str
    told: list[list[str]]

    def before(self, n: int) -> list[str]:
        """What the model knew when it got the Nth-latest prompt."""
        return self.told[-n][:-1]


class Conversation(Generic[Client]):
    """A session in this test's home. When Rewind forks it, its bytes must not change."""

    def __init__(self, client: Client, rewind: Rewind, session: str) -> None:
        self.client = client
        self.rewind = rewind
        self.session = session
        self.path = client.transcript(session)
        self.bytes = self.path.read_bytes()

    def back(self, n: int, *options: str) -> Conversation[Client]:
        """Run `rewind back` on this session. Returns the fork that it makes."""
        before = set(self.path.parent.glob("*.jsonl"))
        done = self.rewind.ok("back", str(n), *options, "--session", self.session)
        fork = done.out.split()[-1]
        assert done.out == f"Fork created: {fork}\n", done
        new, = set(self.path.parent.glob("*.jsonl")) - before
        assert new == self.client.transcript(fork) and fork in new.stem
        self.check_untouched()
        return self.other(fork)

    def back_json(self, n: int, *options: str) -> dict[str, Any]:
        found = self.rewind.json("back", str(n), *options, "--session", self.session)
        self.check_untouched()
        return found

    def other(self, session: str) -> Conversation[Client]:
        return Conversation(self.client, self.rewind, session)

    def hear(self, name: str = "NEXT") -> list[str]:
        """What the model is told when this session is resumed with one more prompt."""
        return self.client.hear(self.session, prompt(name))

    def check_untouched(self) -> None:
        assert self.path.read_bytes() == self.bytes


def contents(folder: Path) -> dict[str, bytes]:
    """Every file in a directory of sessions, to check that nothing was written."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
