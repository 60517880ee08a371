"""A session of an agent in a project that Rewind protects, with checkpoints like those of its hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cli.conftest import InProcess
from rewind.checkpoint.conversations.which_session import session_at
from rewind.controller import Controller


class AgentSession:
    """`talk` writes the transcript; its turns write `a.txt`."""

    def __init__(self, cli: InProcess, talk: Any) -> None:
        if not cli.state.exists():
            cli.init()
        self.cli = cli
        self.talk = talk

    @property
    def path(self) -> Path:
        written: Path = self.talk.write(self.cli.home)
        return written

    def save(self, event: str, **trigger: Any) -> None:
        controller = Controller(str(self.cli.project))
        try:
            session = session_at(str(self.path), controller.project.home)
            found = {"event": event, "session": session.session_id, **trigger}
            controller.save(event, trigger=found, session=session, kind="auto")
        finally:
            controller.close()

    def prompts_of(self, fork: dict[str, Any]) -> list[str]:
        """The prompts that the agent reads from a fork."""
        raise NotImplementedError

    def has(self, fork: dict[str, Any]) -> bool:
        return Path(fork["path"]).exists()

    def read(self) -> str:
        return (self.cli.project / "a.txt").read_text()
