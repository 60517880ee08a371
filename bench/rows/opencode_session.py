"""A session of opencode, which keeps its conversations in a database: going back, against opencode's own
export and import."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from bench import trees
from bench.measure import interleave
from bench.ours import Rewind
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.skipped import Skipped
from bench.spawn import Spawner
from bench.workplace import Workplace, say

SIZE = 6 << 20
_TEXT = "All work and no play makes for a dull transcript. " * 40
_SESSION = "ses_e21b00000ffeBENCHBENCHBENC"


def _program() -> str:
    found = os.environ.get("REWIND_E2E_OPENCODE") or shutil.which("opencode")
    if not found:
        raise Skipped("opencode is not here; REWIND_E2E_OPENCODE may name it")
    return found


class _Talk:
    """One session, in opencode's database and as Rewind's copy of it."""

    def __init__(self, place: Workplace, project: Path) -> None:
        self._program = _program()
        path = os.pathsep.join([str(Path(self._program).parent), place.spawner.env.get("PATH", "")])
        self._off = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        self.spawner = Spawner({**place.spawner.env, **self._off, "PATH": path}, place.root)
        self.project = os.path.realpath(project)
        slug = re.sub("[^A-Za-z0-9]", "-", self.project)
        folder = place.root / "home" / ".rewind" / "transcripts" / "opencode" / slug
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{_SESSION}.jsonl"
        self.exported = place.root / "exported.json"
        self._write(place.root / "session.json", self._messages())

    def _messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        size = 0
        while size < SIZE:
            role = "user" if len(found) % 20 == 0 else "assistant"
            found.append(_message(role, len(found)))
            size += len(json.dumps(found[-1]))
        return found

    def _write(self, file: Path, messages: list[dict[str, Any]]) -> None:
        say(f"making a session of opencode's with {len(messages)} messages")
        info = {"id": _SESSION, "slug": "bench", "projectID": "global", "directory": self.project,
                "title": "Bench", "version": "1.18.33", "time": {"created": 1, "updated": 1}}
        lines = [{"type": "session", "format": 1, "info": info},
                 *({"type": "message", **message} for message in messages)]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self._text = json.dumps({"info": info, "messages": messages})
        self._file = file
        self._imports = 0
        self.prepare_import()
        self.import_it()

    def prepare_import(self) -> None:
        """The next import gets new ids, because opencode imports nothing that it already has."""
        text = self._text
        if self._imports:
            text = text.replace("BENCHBENCHBENC", f"BENCHBENC{self._imports:05d}")
        self._imports += 1
        self._file.write_text(text)

    def import_it(self) -> None:
        os.chdir(self.project)
        self.spawner.run([self._program, "import", str(self._file), "--pure"])

    def export(self) -> None:
        """Into a file, because opencode loses the end if it writes to a pipe."""
        os.chdir(self.project)
        fd = os.open(self.exported, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self.spawner.start([self._program, "export", _SESSION, "--pure"], stdout=fd).wait()
        finally:
            os.close(fd)

    def check(self, name: str) -> None:
        made = [path for path in self.path.parent.glob("*.jsonl") if path != self.path]
        if name == "export" and self.exported.stat().st_size < SIZE:
            raise Unfaithful("the export is too short")
        if name == "fork" and (len(made) != 1 or made[0].stat().st_size < SIZE * 0.9):
            raise Unfaithful(f"the fork is not there or too short: {made}")
        for path in made:
            path.unlink()


def _message(role: str, number: int) -> dict[str, Any]:
    id = f"msg_1de4{number:08x}BENCHBENCHBENC"
    parent = {} if role == "user" else {
        "parentID": f"msg_1de4{number - number % 20:08x}BENCHBENCHBENC", "mode": "build", "agent": "build",
        "path": {"cwd": "/", "root": "/"}, "cost": 0, "modelID": "m", "providerID": "p",
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}
    user = {"agent": "build", "model": {"providerID": "p", "modelID": "m"}} if role == "user" else {}
    text = f"Prompt {number}" if role == "user" else _TEXT
    part = {"id": f"prt_1de4{number:08x}BENCHBENCHBENC", "sessionID": _SESSION, "messageID": id,
            "type": "text"}
    return {"info": {"id": id, "sessionID": _SESSION, "role": role, "time": {"created": number + 1}, **parent,
                     **user}, "parts": [{**part, "text": text}]}


def _read(place: Workplace) -> Outcome:
    talk, rewind = _scene(place, "read")
    taken = interleave({"ours": lambda: rewind.output("back", "1", "--dry-run", "--session", str(talk.path)),
                        "export": talk.export}, place.options.few, after=talk.check)
    talk.path.unlink()
    return compare(taken["ours"], taken["export"])


def _fork(place: Workplace) -> Outcome:
    talk, rewind = _scene(place, "fork")
    taken = interleave({"fork": lambda: rewind.back(talk.path), "import": talk.import_it}, place.options.few,
                       before=talk.prepare_import, after=talk.check)
    talk.path.unlink()
    return compare(taken["fork"], taken["import"])


def _scene(place: Workplace, name: str) -> tuple[_Talk, Rewind]:
    tree = place.plain_tree(f"opencode-{name}", trees.TreeSpec(10, 100))
    talk = _Talk(place, tree.root)
    rewind = Rewind(talk.spawner, place.home, tree.root)
    rewind.init()
    return talk, rewind


ROWS = [
    Row("opencode-read", "boundary in a 6 MB session of opencode's ÷ `opencode export`", 1.3, _read, "more"),
    Row("opencode-fork", "fork of a 6 MB session of opencode's ÷ `opencode import`", 1.3, _fork, "more"),
]
