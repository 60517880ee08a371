"""The message of a commit that is made from turns: the prompt, and a trailer that names the turn."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewind.checkpoint.records.record import prompt_start
from rewind.checkpoint.select.spans import Span
from rewind.words import plural

_SUBJECT = 72
_BRANCH = 40
TRAILER = "Rewind-Turn"
_CHECKPOINT = "Rewind-Checkpoint"


def subject_of(text: str, otherwise: str) -> str:
    """The first line or sentence of a prompt, short enough for a log."""
    first = next((line for line in text.strip().splitlines() if line.strip()), "") or otherwise
    first = " ".join(_visible(first).split())
    if len(first) <= _SUBJECT:
        return first.rstrip(".") or otherwise
    sentence = re.split(r"(?<=[.!?])\s", first)[0]
    if len(sentence) <= _SUBJECT:
        return sentence.rstrip(".")
    cut = first[:_SUBJECT - 1]
    return (cut.rpartition(" ")[0] if " " in cut[_SUBJECT // 2:] else cut).rstrip(" ,;:.") + "…"


def message_of(spans: Sequence[Span]) -> str:
    """The prompt of one turn, or a list of the prompts of several; without the trailers."""
    subjects = [subject_of(_text(span), span.label) for span in spans]
    if len(spans) == 1:
        whole = _visible(_text(spans[0])).strip()
        says_more = _flat(whole).rstrip(".") not in ("", subjects[0])
        return f"{subjects[0]}\n" + (f"\n{whole}\n" if says_more else "")
    lines = "".join(f"- {subject}\n" for subject in subjects)
    others = "more turn" if all(span.turn for span in spans) else "more change"
    return f"{subjects[0]} (and {plural(len(spans) - 1, others)})\n\n{lines}"


def _text(span: Span) -> str:
    """The prompt, with its line breaks if the checkpoint has them; without a turn, the checkpoint's
    description."""
    noted = span.before.trigger.get("promptText")
    if span.prompt and isinstance(noted, str) and prompt_start(noted) == prompt_start(span.prompt):
        return noted
    return span.prompt or (span.after or span.before).description


def with_trailers(message: str, spans: Sequence[Span]) -> str:
    return message.rstrip() + "\n\n" + "".join(f"{trailer_of(span)}\n" for span in spans)


def trailer_of(span: Span) -> str:
    if span.session:
        return f"{TRAILER}: {span.session}#{span.turn}"
    return f"{_CHECKPOINT}: {span.after.name if span.after else span.before.name}"


def branch_name(spans: Sequence[Span]) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", subject_of(_text(spans[0]), spans[0].label).lower()).strip("-")
    return "rewind/" + (words[:_BRANCH].strip("-") or "turns")


def _flat(text: str) -> str:
    return " ".join(text.split())


def _visible(text: str) -> str:
    """Without control characters, and without what cannot be written as UTF-8."""
    text = text.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
