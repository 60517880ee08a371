"""A project with an agent's conversation. A test adds turns and makes checkpoints. It can remember every
version of every transcript, and later ask whether one was lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, Union

from cli.conftest import InProcess
from make_transcripts import ClaudeTalk, DroidTalk, Line, event_id, place, resumed
from rewind.checkpoint.conversations.which_session import session_at
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.outcome import Outcome
from rewind.controller import AtTurn, Controller
from rewind.processes import process_start

SESSION = event_id(0x5E55)
LONG_AGO = 1_700_000_000


class Claude(ClaudeTalk):
    """A transcript for a directory of this machine. Its prompts have the ids that hooks see."""

    def __init__(self, project: Path, session: str = SESSION, **more: Any) -> None:
        super().__init__(session, **more)
        self.cwd = os.path.realpath(project)
        self.prompts = 0

    def add(self, line: Line) -> None:
        super().add({**line, "cwd": self.cwd} if "cwd" in line else line)

    def prompt(self, text: Any, **more: Any) -> str:
        self.prompts += 1
        return super().prompt(text, **{"promptId": f"p{self.prompts}", **more})


def droid(project: Path, session: str = SESSION, title: str = "A talk", **header: Any) -> DroidTalk:
    return DroidTalk(title, session, cwd=os.path.realpath(project), **header)


class Scene:
    """The client of one session, which appends every turn to its file."""

    def __init__(self, cli: InProcess, agent: str = "claude", session: str = SESSION) -> None:
        # These tests are not about power cuts, and syncing would slow them down.
        cli._monkeypatch.setattr(os, "fsync", lambda fd: None)
        if not cli.state.exists():
            cli.init()
        self.cli = cli
        self.agent = agent
        self.talk: Any = (Claude(cli.project, session) if agent == "claude"
                          else droid(cli.project, session))
        self._written = 0
        self.path = place(cli.home, agent, cli.project, b"", session)
        (cli.home / ".claude" / "sessions").mkdir(parents=True, exist_ok=True)  # no session is open
        self.versions: set[bytes] = set()
        self.first = self.second = ""  # names of checkpoints, for the fixtures
        self.flush()

    @property
    def session(self) -> str:
        return self.path.stem

    @property
    def folder(self) -> Path:
        return self.path.parent

    def flush(self) -> None:
        """Append the new lines to the file."""
        new = self.talk.lines[self._written:]
        self._written = len(self.talk.lines)
        with open(self.path, "ab") as file:
            file.write(b"".join(line + b"\n" for line in new))
        if self.agent != "claude":
            self.make_old()

    def make_old(self) -> None:
        """Make the file look as if nothing was written to it in the last minutes."""
        os.utime(self.path, (LONG_AGO, LONG_AGO))

    def say(self, *texts: str) -> None:
        for text in texts:
            self.talk.turn(text)
        self.flush()

    def do(self, text: str, **files: str) -> None:
        """A turn in which the agent writes files."""
        self.say(text)
        self.write(**files)

    def write(self, **files: str) -> None:
        for name, content in files.items():
            (self.cli.project / f"{name}.txt").write_text(content)

    def read(self, name: str) -> Optional[str]:
        path = self.cli.project / f"{name}.txt"
        return path.read_text() if path.exists() else None

    # checkpoints

    def controller(self) -> Controller:
        return Controller(str(self.cli.project))

    def save(self, event: str = "", path: Optional[Path] = None, **trigger: Any) -> Record:
        """Save as a hook does."""
        controller = self.controller()
        session = session_at(str(path or self.path), controller.project.home)
        found = {"event": event, "session": session.session_id, **trigger} if event else None
        return controller.save(event, trigger=found, session=session, kind="auto").record

    def to_turn(self, turn: int, *, both: bool = False, session: Optional[str] = None,
                **more: Any) -> Outcome:
        """Rewind as the page does: the turn itself is kept."""
        target = AtTurn(self.session if session is None else session, turn, after=True)
        return self.controller().go(target, "both" if both else "conversation", **more)

    def records(self) -> list[Record]:
        return self.controller().list_checkpoints(backups=True)

    # what exists

    def forks(self) -> list[Path]:
        return sorted(p for p in self.folder.glob("*.jsonl") if p != self.path)

    def fork(self, path: Union[Path, str, None] = None) -> list[str]:
        """The texts of the prompts that the client resumes from a fork."""
        return prompts_of(self.agent, Path(path) if path else self.forks()[0])

    def remember(self) -> None:
        self.versions.update(data for data in self._transcripts() if data)

    def lost(self) -> list[bytes]:
        """Versions of transcripts that no longer exist anywhere, not even as the beginning of a later one."""
        self.remember()
        present = self._transcripts()
        return [v for v in self.versions if not any(p.startswith(v) for p in present)]

    def _transcripts(self) -> list[bytes]:
        tops = (self.cli.home, self.cli.state / "transcript-backup", self.cli.state / "trash")
        return [p.read_bytes() for top in tops for p in sorted(top.rglob("*.jsonl")) if p.is_file()]

    def leftovers(self) -> list[str]:
        """Temporary files that a command should have removed."""
        tops = (self.cli.home, self.cli.state)
        return [str(p) for top in tops for p in top.rglob("*")
                if "rewind-tmp" in p.name or p.name.startswith("temporary-")]

    def agent_files(self) -> dict[str, bytes]:
        """Every file in the agents' directories, with its content."""
        tops = (self.cli.home / ".claude", self.cli.home / ".factory")
        return {str(p): p.read_bytes() for top in tops for p in top.rglob("*") if p.is_file()}

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.cli.state / "operations.jsonl").read_text().splitlines()]


class Turns(Scene):
    """Each turn has a checkpoint before and after it, as with hooks."""

    def turn(self, text: str, **files: str) -> None:
        number = self.talk.prompts + 1
        self.save("UserPromptSubmit", promptId=f"p{number}", promptText=text)
        self.do(text, **files)
        self.save("Stop", promptId=f"p{number}")


def prompts_of(agent: str, path: Path) -> list[str]:
    """The prompts from which the client continues, oldest first."""
    data = path.read_bytes()
    chain = resumed(agent, data)
    texts = {}
    for raw in data.splitlines():
        line = json.loads(raw)
        message = line.get("message") or {}
        if message.get("role") != "user" or line.get("isCompactSummary") or "visibility" in message:
            continue
        content = message["content"]
        if isinstance(content, list):
            content = next((b["text"] for b in content if b.get("type") == "text"), None)
        texts[line.get("uuid") or line.get("id")] = content
    return [texts[event] for event in chain if texts.get(event)]


def client_is_running(home: Path, session: str, pid: Optional[int] = None, **more: Any) -> Path:
    """Write the file that Claude Code writes while it has a session open."""
    pid = pid or os.getpid()
    folder = home / ".claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pid}.json"
    path.write_text(json.dumps({"pid": pid, "sessionId": session, "procStart": process_start(pid),
                                "kind": "interactive", **more}))
    return path


def a_dead_pid() -> int:
    """The number of a process that has ended."""
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def change_record(cli: InProcess, name: str, **changes: Any) -> None:
    """Replace fields of a record's `transcript`, as a damaged or hostile store could have them."""
    path = cli.state / "checkpoints" / name / "metadata.json"
    data = json.loads(path.read_text())
    data["transcript"].update(changes)
    path.write_text(json.dumps(data))
    (cli.state / "scan-cache.db").unlink(missing_ok=True)
