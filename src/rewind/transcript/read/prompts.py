"""What a genuine prompt is: a message that a person wrote, according to the agent's profile."""

from __future__ import annotations

from rewind.agents.profile import TREE, holds, pick
from rewind.jsonfile import objects_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.agents.profile import Profile
    from rewind.agents.profile_sections import Prompt
    from rewind.jsonfile import JsonObject

NO, YES, IF_ANSWERED = 0, 1, 2


def content_of(data: JsonObject, profile: Profile) -> Any:
    """What was said: a text, or a list of blocks."""
    if profile.kind != TREE:
        from rewind.transcript.kinds.reading import reading_of

        return reading_of(profile).content_of(data, profile)
    for path in profile.lines["content"]:
        found = pick(data, path)
        if isinstance(found, (str, list)):
            return found
    return None


def blocks_of(data: JsonObject, profile: Profile) -> list[JsonObject]:
    """The blocks of what was said; none for a plain text."""
    return objects_in(content_of(data, profile))


def kind_of_prompt(data: JsonObject, profile: Profile) -> int:
    """NO, YES, or IF_ANSWERED: a slash command that is a prompt only if the agent answers it."""
    rule = profile.prompt
    if not holds(rule["require"], data) or _is_refused(data, rule):
        return NO
    content = content_of(data, profile)
    if not isinstance(content, (str, list)) or has_block(content, rule["refuseBlocks"]):
        return NO
    text = _genuine_text(content, rule)
    typed = is_surely_typed(data, profile)  # then any beginning is fine: people paste what machines wrote
    if not text:
        return YES if has_block(content, rule["imageBlocks"]) or (typed and _has_text(content)) else NO
    if not typed and (text.startswith(tuple(rule["refuseStarts"])) or text.strip() in rule["refuseTexts"]):
        return NO
    commands = rule["commands"]
    if commands and text.startswith(tuple(commands["starts"])) and not holds(commands["genuine"], data):
        return IF_ANSWERED
    return YES


def is_surely_typed(data: JsonObject, profile: Profile) -> bool:
    """Whether the line says itself that a person wrote it."""
    genuine = profile.prompt.get("genuine")
    return genuine is not None and holds(genuine, data)


def _has_text(content: str | list[Any]) -> bool:
    return any(text.strip() for text in _texts(content))


def _is_refused(data: JsonObject, rule: Prompt) -> bool:
    absent_or = rule["absentOr"].items()
    return (any(holds({path: values}, data) for path, values in rule["refuse"].items())
            or any(pick(data, key) is not None for key in rule["refuseKeys"])
            or any(pick(data, path) is not None and not holds({path: values}, data)
                   for path, values in absent_or))


def has_block(content: Any, kinds: list[str]) -> bool:
    """Whether what was said contains a block of one of these types."""
    return any(block.get("type") in kinds for block in objects_in(content))


def _genuine_text(content: str | list[Any], rule: Prompt) -> str:
    """The text without what the client put before it."""
    skipped = tuple(rule.get("skipBlocks") or ())
    texts = [t for t in _texts(content) if not (skipped and t.startswith(skipped))]
    if rule["text"] == "first":
        return texts[0].strip() if texts else ""
    return _without_envelopes("\n".join(texts), rule["envelopes"])


def _texts(content: str | list[Any]) -> list[str]:
    if isinstance(content, str):
        return [content]
    found = (b.get("text") if isinstance(b, dict) and b.get("type") == "text" else
             b if isinstance(b, str) else None for b in content)
    return [text for text in found if isinstance(text, str)]


def _without_envelopes(text: str, envelopes: list[str]) -> str:
    """Without leading `<system-reminder>…</system-reminder>` and the like. A name that ends in `_` stands for
    all that begin with it."""
    while True:
        text = text.strip()
        name = _tag(text)
        if not name or not any(name == e or (e.endswith("_") and name.startswith(e)) for e in envelopes):
            return text
        end = text.find(f"</{name}>")
        if end < 0:
            return text
        text = text[end + len(name) + 3:]


def _tag(text: str) -> str:
    if not text.startswith("<"):
        return ""
    name = text[1:text.find(">")] if ">" in text[:80] else ""
    return name if name.replace("_", "").replace("-", "").isalnum() else ""


def prompt_text(data: JsonObject, profile: Profile) -> str:
    """The prompt as its writer would recognise it. Empty if the line has an unexpected shape."""
    content = content_of(data, profile)
    if not isinstance(content, (str, list)):
        return ""
    text = _genuine_text(content, profile.prompt)
    if not text and is_surely_typed(data, profile):
        text = "\n".join(_texts(content)).strip()  # all of it looks like the client's own words
    return as_typed(text) if profile.prompt["commands"] else text


def as_typed(text: str) -> str:
    """`<command-name>/x</command-name>…<command-args>y</command-args>` is `/x y`."""
    name = _between(text, "<command-name>", "</command-name>")
    if not name or not text.startswith(("<command-name>", "<command-message>")):
        return text
    arguments = _between(text, "<command-args>", "</command-args>")
    return f"{name} {arguments}".strip()


def _between(text: str, start: str, end: str) -> str:
    at = text.find(start)
    stop = text.find(end, at)
    return text[at + len(start):stop].strip() if 0 <= at < stop else ""
