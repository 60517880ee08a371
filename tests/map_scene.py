"""A session with checkpoints like those of Claude Code's hooks, and the history of an afternoon: turns, one
of which deletes too much, an edit by hand, a native rewind, a fork, a manual checkpoint and an import."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Optional

from chat_scene import Claude, Scene
from cli.conftest import InProcess
from rewind_cli import Rewind


class Story(Scene):
    """A session with a checkpoint at each prompt and at each end of a turn, as with the default tier."""

    names: list[tuple[str, str]]

    def turn(self, text: str, *, delete: str = "", end: bool = True, **files: str) -> tuple[str, str]:
        """Add a turn. Returns the names of the checkpoints before and after it."""
        number = self.talk.prompts + 1
        before = self.save("UserPromptSubmit", promptId=f"p{number}", promptText=text[:200])
        if end:
            self.do(text, **files)
        else:
            self.talk.prompt(text)
            self.flush()
            self.write(**files)
        if delete:
            shutil.rmtree(self.cli.project / delete)
        after = self.save("Stop", promptId=f"p{number}").name if end else ""
        return before.name, after

    def use(self, name: str, **given: str) -> None:
        """The agent calls a tool in the current turn."""
        call = f"toolu_{self.talk._count}"
        self.talk._assistant({"type": "tool_use", "id": call, "name": name, "input": given})
        self.talk.user([{"type": "tool_result", "tool_use_id": call, "content": "done"}], toolUseResult={})
        self.flush()

    def begin(self, text: str) -> str:
        """Start a turn: a prompt and its checkpoint."""
        number = self.talk.prompts + 1
        name = self.save("UserPromptSubmit", promptId=f"p{number}", promptText=text[:200]).name
        self.talk.prompt(text)
        self.flush()
        return name

    def finish(self) -> str:
        self.talk.answer("Done")
        self.flush()
        return self.save("Stop", promptId=f"p{self.talk.prompts}").name

    def rewind_natively(self, event: Optional[str]) -> None:
        """The client's own rewind of the conversation. The code stays as it is."""
        self.talk.back_to(event)

    def in_fork(self, path: Path) -> Story:
        """The client, continuing in a fork."""
        found = Story.__new__(Story)
        found.__dict__.update(self.__dict__)
        found.path = path
        talk = Claude(self.cli.project, path.stem)
        talk.lines = [line for line in path.read_bytes().splitlines() if line]
        talk._count = 0x100 + self.talk._count
        talk.prompts = 100 + self.talk.prompts
        last = [json.loads(line).get("uuid") for line in talk.lines]
        talk.here = [uuid for uuid in last if uuid][-1]
        found.talk, found._written = talk, len(talk.lines)
        return found


def afternoon(cli: InProcess) -> Story:
    """Make a history with everything that `rewind list` shows."""
    project = cli.project
    (project / "src").mkdir()
    for number in range(12):
        (project / f"src/part{number}.py").write_text("".join(f"line {n}\n" for n in range(20)))
    (project / "README.md").write_text("# Shop\n")
    story = Story(cli)
    story.turn("Add a health check to the server, with a test that calls it and a line in the README about"
               " it", health="ok\n" * 12)
    resume_from = story.talk.here
    (project / "README.md").write_text("# Shop\n\nBy hand.\n")
    story.turn("Use dataclasses for the settings", settings="a\n" * 30)
    story.rewind_natively(resume_from)
    story.turn("Use plain dictionaries for the settings instead", settings="b\n" * 8)
    cli.save("before the clean-up")
    story.turn("Please clean up the repository", delete="src")
    answer = cli.json("back", "1", "--both", "--session", story.session)
    fork = story.in_fork(Path(answer["fork"]["path"]))
    fork.turn("Remove unused imports only; do not delete anything", imports="c\n" * 3)
    archive = cli.home / "shared.tar.gz"
    cli.ok("export", "1", str(archive))
    cli.ok("import", str(archive))
    return story


def set_clock(rewind: Rewind, now: float, step: float = 240.0) -> None:
    """Change the records as if they had been made every four minutes, the last one now."""
    folder = rewind.state / "checkpoints"
    names = sorted(os.listdir(folder), key=lambda name: _sequence(folder, name))
    import time

    for number, name in enumerate(reversed(names)):
        path = folder / name / "metadata.json"
        data: dict[str, Any] = json.loads(path.read_text())
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - number * step))
        path.write_text(json.dumps({**data, "createdAt": stamp}))
    log = rewind.state / "operations.jsonl"
    if log.exists():
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            line["at"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - 3 * step))
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (rewind.state / "scan-cache.db").unlink(missing_ok=True)


def _sequence(folder: Path, name: str) -> int:
    return int(json.loads((folder / name / "metadata.json").read_text())["sequence"])
