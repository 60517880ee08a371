"""What was said in a turn, as blocks to show: text, thinking, tool calls with results, images, notes."""

from __future__ import annotations

import re

from rewind.agents.profile import Profile, pick
from rewind.jsonfile import JsonObject, objects_in
from rewind.transcript.read.entries import ASSISTANT, USER, Entry, is_compaction
from rewind.transcript.read.lines import Event
from rewind.transcript.read.prompts import as_typed, blocks_of, content_of, prompt_text
from rewind.transcript.turns.tool_calls import files_named, pretty, summary_of
from rewind.transcript.turns.turn_tree import Row

# `kind` is text, thinking, note, tool or image, and decides which other keys there are.
Block = JsonObject

_MOST_BLOCKS = 2000
_MOST_FILES = 200
_IMAGE = 2 << 20
_WHEN_USED_UP = 500  # how much of each text is kept once the total is reached
_SUMMARIES = ("summaryText", "content")  # where compaction lines have their summary


class Limits:
    """How much text and image data may be returned, in each block and in total."""

    def __init__(self, text: int, total: int, images: int) -> None:
        self.text = text
        self.total = total
        self.images = images

    def cut(self, text: str) -> str:
        room = self.text if self.total > 0 else _WHEN_USED_UP
        kept = text[:room]
        self.total -= len(kept)
        return kept


def for_page() -> Limits:
    return Limits(20_000, 4 << 20, 8 << 20)


def for_one_turn() -> Limits:
    return Limits(5 << 20, 5 << 20, 8 << 20)


class TurnText:
    """One turn, readable."""

    def __init__(self, row: Row, profile: Profile, limits: Limits) -> None:
        self.row = row
        self.profile = profile
        self.prompt = ""
        self.blocks: list[Block] = []
        self.truncated = False
        self.compacted_before = False
        self.join: object = None  # the key that a checkpoint of this prompt has recorded
        self.first_tool: str | None = None
        self.ended = ""  # the time of the last answer
        self.files: list[str] = []  # that its tools named
        self.began = "/"  # the directory that their names are relative to, if lines do not say
        self._limits = limits
        self._tools: dict[str, Block] = {}

    # collecting

    def add(self, event: Event, entry: Entry | None) -> None:
        """The next line of the turn. `entry` is None if it is not part of the conversation."""
        if entry is not None and event.offset == self.row.offset:
            self._open(event)
        elif entry is None or entry.is_compaction:
            self._compaction(event)
        elif entry.is_main and not entry.passing:
            self._message(event, entry.role)

    def _open(self, event: Event) -> None:
        """The prompt itself."""
        key = self.profile.prompt["joinKey"]
        self.join = pick(event.data, key) if key else None
        self.prompt = self._cut(prompt_text(event.data, self.profile))
        for block in blocks_of(event.data, self.profile):
            if block.get("type") == "image":
                self._image(block)

    def _compaction(self, event: Event) -> None:
        """A note, if the line reports a compaction."""
        if is_compaction(event.data, self.profile):
            self._note(next((event.data[key] for key in _SUMMARIES
                             if isinstance(event.data.get(key), str)), "") or "Compacted")

    def _message(self, event: Event, role: str) -> None:
        if role == ASSISTANT:
            stamp = pick(event.data, self.profile.lines.get("timestamp"))
            self.ended = stamp if isinstance(stamp, str) else self.ended
            self._answer(event)
        elif role == USER:
            self._user(event)
        elif isinstance(event.data.get("content"), str) and _is_command(event.data["content"]):
            self._note(event.data["content"])

    def _answer(self, event: Event) -> None:
        content = content_of(event.data, self.profile)
        if isinstance(content, str):
            self._text(content)
        for block in objects_in(content):
            self._said(block, event)

    def _said(self, block: JsonObject, event: Event) -> None:
        kind = block.get("type")
        if kind == "text":
            self._text(block.get("text"))
        elif kind in ("thinking", "redacted_thinking"):
            text = block.get("thinking") or block.get("text") or ""
            if isinstance(text, str) and text.strip():
                self._add({"kind": "thinking", "text": self._cut(text)})
        elif kind == "tool_use":
            self._tool(block, event)
        elif kind == "tool_result":  # if the agent keeps call and result together
            self._result(block)
        elif kind == "image":
            self._image(block)

    def _tool(self, block: JsonObject, event: Event) -> None:
        id, name, given = str(block.get("id") or ""), str(block.get("name") or ""), block.get("input")
        self.first_tool = self.first_tool or id
        cwd = pick(event.data, self.profile.lines["cwd"])
        for path in files_named(given, name, self.profile, cwd if isinstance(cwd, str) else self.began):
            if path not in self.files and len(self.files) < _MOST_FILES:
                self.files.append(path)
        made: Block = {
            "kind": "tool", "id": id, "name": name[:200], "summary": summary_of(given),
            "input": self._cut(pretty(given, self._limits.text)), "result": None, "isError": False}
        if self._add(made):
            self._tools[id] = made

    def _user(self, event: Event) -> None:
        """Results of tools, and what the client says in the person's name."""
        content = content_of(event.data, self.profile)
        if isinstance(content, str):
            self._note(content)
            return
        for block in objects_in(content):
            if block.get("type") == "tool_result":
                self._result(block)
            elif block.get("type") == "text" and isinstance(block.get("text"), str):
                self._note(block["text"])
            elif block.get("type") == "image":
                self._image(block)

    def _result(self, block: JsonObject) -> None:
        tool = self._tools.get(str(block.get("tool_use_id")))
        content = block.get("content")
        parts = objects_in(content if isinstance(content, list) else [{"type": "text", "text": content}])
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        if tool is not None:
            tool["result"] = self._cut("\n".join(texts))
            tool["isError"] = bool(block.get("is_error") or block.get("isError"))
        for part in parts:
            if part.get("type") == "image":
                self._image(part)

    # one block

    def _text(self, text: object) -> None:
        if isinstance(text, str) and text.strip():
            self._add({"kind": "text", "text": self._cut(text)})

    def _note(self, text: str) -> None:
        plain = _without_tags(text)
        if plain:
            self._add({"kind": "note", "text": self._cut(plain)})

    def _image(self, block: JsonObject) -> None:
        source = block.get("source")
        source = source if isinstance(source, dict) else block
        data, media = source.get("data"), source.get("media_type") or source.get("mediaType")
        media = media if isinstance(media, str) and media.startswith("image/") else "image/png"
        found: Block = {"kind": "image", "mediaType": media[:100]}
        if isinstance(data, str) and len(data) <= min(_IMAGE, self._limits.images):
            self._limits.images -= len(data)
            found["data"] = data
        else:
            found["omitted"] = True
        self._add(found)

    def _cut(self, text: str) -> str:
        kept = self._limits.cut(text)
        self.truncated = self.truncated or len(kept) < len(text)
        return kept

    def _add(self, block: Block) -> bool:
        if len(self.blocks) >= _MOST_BLOCKS:
            self.truncated = True
            return False
        self.blocks.append(block)
        return True


def _is_command(text: str) -> bool:
    return text.startswith(("<local-command", "<command-name>", "<command-message>", "<bash-"))


_ESCAPE_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b.")
_TAGS = ("local-command-stdout", "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr",
         "command-name", "command-message", "command-args", "task-notification")


def _without_tags(text: str) -> str:
    """Without the tags that a client puts around commands that a person ran."""
    text = _ESCAPE_SEQUENCES.sub("", as_typed(text))
    for tag in _TAGS if text.lstrip().startswith("<") else ():
        text = text.replace(f"<{tag}>", "").replace(f"</{tag}>", " ")
    return text.strip()
