"""What the page must show: turns that write files, and their checkpoints. Also a session that it must not
show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chat_scene import Claude, Scene
from cli.conftest import InProcess
from make_transcripts import event_id, place

ELSEWHERE = event_id(0xE15E)


class Shop(Scene):
    def __init__(self, cli: InProcess) -> None:
        super().__init__(cli)
        self.turns = 0
        self.work("one", a="1")
        self.work("two", a="2", b="2")
        self.work("three", c="3")
        self.work("four", a="4")

    def work(self, prompt: Any, **files: str) -> None:
        """Add a turn with a checkpoint before and after it, as hooks make them."""
        self.turns += 1
        key = f"p{self.turns}"
        text = {"promptText": prompt} if isinstance(prompt, str) else {}
        self.save("UserPromptSubmit", promptId=key, **text)
        self.talk.prompt(prompt, promptId=key)
        for name, content in files.items():
            path = self.cli.project / f"{name}.txt"
            call = f"toolu_{self.turns}_{name}"
            self.talk._assistant({"type": "tool_use", "id": call, "name": "Write",
                                  "input": {"file_path": str(path), "content": content}})
            path.write_text(content)
            self.talk.user([{"type": "tool_result", "tool_use_id": call, "content": f"wrote {name}"}],
                           toolUseResult={"ok": True})
        self.talk.answer(f"Answer to {prompt}")
        self.flush()
        self.save("Stop", promptId=key)

    def other_project(self, tmp_path: Path) -> str:
        """A session that belongs to a project beside this one, of the same person."""
        beside = tmp_path / "beside"
        beside.mkdir()
        talk = Claude(beside, ELSEWHERE)
        talk.turn("a secret of another project")
        place(self.cli.home, "claude", beside, talk.bytes(), ELSEWHERE)
        return ELSEWHERE

    def files(self) -> dict[str, str]:
        return {path.stem: path.read_text() for path in sorted(self.cli.project.glob("*.txt"))}
