"""What reached the model, in a form that can be compared: texts, calls and results in their order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

Messages = list[dict[str, Any]]

# Text that the clients add for the model. It may differ between two runs of one conversation.
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.S)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def spoken(message: dict[str, Any]) -> list[str]:
    """The texts of a message that a person typed or that the model wrote."""
    texts = [block["text"] for block in _blocks(message) if block["type"] == "text"]
    return [text for text in (_REMINDER.sub("", text).strip() for text in texts) if text]


def talk(messages: Messages, places: Sequence[str]) -> list[str]:
    """One line for each text, call and result. The names of places are replaced by numbers."""
    found = [line for message in messages if message["role"] != "system" for line in _lines(message)]
    for number, place in enumerate(places):
        found = [line.replace(place, f"{{{number}}}") for line in found]
    return found


def _lines(message: dict[str, Any]) -> Iterator[str]:
    for block in _blocks(message):
        if block["type"] == "tool_use":
            yield f"call {block['name']} {json.dumps(block['input'], sort_keys=True)}"
        elif block["type"] == "tool_result":
            yield f"result {_result(block.get('content'))}"
        else:
            yield from (f"{message['role']}: {text}" for text in spoken({**message, "content": [block]}))


def _result(content: Any) -> str:
    texts = [str(part.get("text")) for part in content] if isinstance(content, list) else [str(content)]
    return _REMINDER.sub("", "\n".join(texts)).strip()


def prompts(lines: list[str]) -> list[str]:
    """The names of the scripted prompts in a talk: ONE for `user: PROMPT-ONE please`."""
    return [name for line in lines for name in re.findall(r"^user: PROMPT-([A-Z]+)", line)]
