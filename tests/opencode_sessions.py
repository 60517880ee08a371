"""opencode's sessions for tests: recorded ones as Rewind's plugin would copy them, made-up ones, a second
reader, and a program that replaces opencode if only its commands matter."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any, Optional

RECORDED = Path(__file__).resolve().parents[0] / "data" / "opencode"
Line = dict[str, Any]


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"opencode-{name}.json").read_text())


def lines_of_export(export: dict[str, Any]) -> list[Line]:
    """The lines that the plugin writes for a session. An export has the same data as opencode's client."""
    lines = [{"type": "session", "format": 1, "timestamp": _stamp(export["info"]), "info": export["info"]}]
    for message in export["messages"]:
        info = {key: value for key, value in message["info"].items()
                if not (key == "summary" and message["info"]["role"] == "user")}
        compacts = any(part["type"] == "compaction" for part in message["parts"])
        lines.append({"type": "compaction" if compacts else "message", "timestamp": _stamp(info),
                      "info": info, "parts": message["parts"]})
    return lines


def _stamp(info: Line) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(info["time"]["created"] / 1000))


def export_of_rows(rows: dict[str, Any]) -> dict[str, Any]:
    """The rows of the database in the form of an export."""
    parts: dict[str, list[Line]] = {}
    for row in rows["part"]:
        parts.setdefault(row["message_id"], []).append(
            {**json.loads(row["data"]), "id": row["id"], "messageID": row["message_id"],
             "sessionID": row["session_id"]})
    session = rows["session"]
    info = {"id": session["id"], "slug": session["slug"], "projectID": session["project_id"],
            "directory": session["directory"], "title": session["title"], "version": session["version"],
            "time": {"created": session["time_created"], "updated": session["time_updated"]}}
    messages = [{"info": {**json.loads(row["data"]), "id": row["id"], "sessionID": row["session_id"]},
                 "parts": parts.get(row["id"], [])} for row in rows["message"]]
    return {"info": info, "messages": messages}


def bytes_of(lines: list[Line]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                    for line in lines)


def folder(home: Path, cwd: Path) -> Path:
    slug = re.sub("[^A-Za-z0-9]", "-", str(cwd))
    found = home / ".rewind" / "transcripts" / "opencode" / slug
    found.mkdir(parents=True, exist_ok=True)
    return found


def place(home: Path, lines: list[Line]) -> Path:
    info = lines[0]["info"]
    path = folder(home, Path(info["directory"])) / f"{info['id']}.jsonl"
    path.write_bytes(bytes_of(lines))
    return path


class Talk:
    """A session in the form in which opencode 1.18 stores it."""

    def __init__(self, cwd: Path, id: str = "ses_e21b00000ffeAAAAAAAAAAAAAA", **info: Any) -> None:
        self.id = id
        self.cwd = cwd
        self.at = 1_794_730_000_000
        self.rows = 0
        self.info = {"id": id, "slug": "calm-fox", "projectID": "global", "directory": str(cwd),
                     "title": "A talk", "version": "1.18.33", "time": self._time(), **info}
        self.messages: list[Line] = []

    def _time(self) -> Line:
        self.at += 1000
        return {"created": self.at}

    def new_id(self, kind: str) -> str:
        self.rows += 1
        return f"{kind}_1de4{self.rows:08x}{self.id[-14:]}"

    def message(self, role: str, *parts: Line, **info: Any) -> str:
        id = self.new_id("msg")
        found = {"id": id, "sessionID": self.id, "role": role, "time": self._time(), **info}
        own = [{"id": self.new_id("prt"), "sessionID": self.id, "messageID": id, **part} for part in parts]
        self.messages.append({"info": found, "parts": own})
        return id

    def prompt(self, text: str, *more: Line) -> str:
        return self.message("user", {"type": "text", "text": text}, *more)

    def answer(self, parent: str, *parts: Line, **info: Any) -> str:
        ended = {"created": self.at, "completed": self.at + 500}
        return self.message("assistant", {"type": "step-start"}, *parts, {"type": "step-finish"},
                            **{"parentID": parent, "time": ended, **info})

    def turn(self, text: str, output: str = "") -> str:
        asked = self.prompt(text)
        if output:
            self.answer(asked, tool(f"call_{self.rows}", output))
        self.answer(asked, {"type": "text", "text": f"To {text}"})
        return asked

    def compact(self, kept: Optional[str] = None) -> None:
        asked = self.message("user", {"type": "compaction", "auto": False, "tail_start_id": kept})
        self.answer(asked, {"type": "text", "text": "What was said"}, summary=True)

    @property
    def lines(self) -> list[Line]:
        return lines_of_export({"info": self.info, "messages": self.messages})

    def write(self, home: Path) -> Path:
        return place(home, self.lines)


def tool(call: str, output: str, status: str = "completed") -> Line:
    result = {"error": output} if status == "error" else {"output": output}
    return {"type": "tool", "tool": "bash", "callID": call,
            "state": {"status": status, "input": {"command": "make"}, **result}}


def prompts_in(lines: list[Line]) -> list[str]:
    """The prompts, found by a simple second reader."""
    revert = lines[0]["info"].get("revert") or {}
    found = []
    for line in lines[1:]:
        if line["info"]["id"] == revert.get("messageID"):
            break
        texts = [p["text"] for p in line["parts"] if p["type"] == "text" and not p.get("synthetic")]
        if line["info"]["role"] == "user" and texts:
            found.append("\n".join(texts))
    return found


FAKE = """#!{python}
import json, os, sys
kept = os.path.join(os.path.dirname(os.path.abspath(__file__)), "imported")
os.makedirs(kept, exist_ok=True)
words = sys.argv[1:]
if words[0] == "import" and words[2] == "--pure":
    with open(words[1]) as file:
        data = json.load(file)
    path = os.path.join(kept, data["info"]["id"] + ".json")
    with open(path, "w") as file:
        json.dump({{**data, "cwd": os.getcwd()}}, file)
    print("Imported session:", data["info"]["id"])
elif words[:2] == ["session", "delete"] and words[3] == "--pure":
    path = os.path.join(kept, words[2] + ".json")
    if not os.path.exists(path):
        sys.exit("Error: Session not found: " + words[2])
    os.unlink(path)
else:
    sys.exit("Error: this is not opencode")
"""


def fake_client(bin: Path) -> Path:
    """Make a program called opencode. Returns the directory of the sessions that it has imported."""
    bin.mkdir(exist_ok=True)
    program = bin / "opencode"
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(0o755)
    return bin / "imported"
