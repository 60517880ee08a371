"""A plan and an outcome in words, for the plugin: a question, lines below it, and what comes next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rewind.words import one_line, plural, safe, shortened, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.transcript.read.entries import Prompt

    class PlanAnswer(TypedDict):
        question: str
        lines: list[str]
        files: list[str]
        diff: str
        yes: str
        digest: str
        changes: int

    class OutcomeAnswer(TypedDict):
        resume: str | None  # the session to continue with
        clear: bool  # the client should begin an empty one
        draft: str | None  # for the prompt box
        said: str

MOST_FILES = 8
_LONGEST = 70


def plan_answer(plan: Plan, question: str, lines: list[str], yes: str, *, left_out: str = "") -> PlanAnswer:
    """The notes that end with the id `left_out` are left out."""
    code = plan.code
    notes = [safe(note) for note in plan.all_notes() if not (left_out and note.endswith(left_out))]
    return {"question": question, "lines": [*lines, *(["Files: " + counts(code)] if code else []), *notes],
            "files": file_lines(code) if code else [], "diff": "", "yes": yes, "digest": plan.digest,
            "changes": len(code.changes) if code else 0}


def counts(code: RestorePlan) -> str:
    if code.empty:
        return "already as they were"
    parts = ((code.written, "written"), (code.deleted, "deleted"), (code.kept, "kept"))
    return ", ".join(f"{len(paths):,} {what}" for paths, what in parts if paths)


def file_lines(code: RestorePlan) -> list[str]:
    found = [f"{sign} {shown(path)}" + (f"  ({remark})" if remark else "")
             for sign, path, remark in code.lines()]
    more = len(found) - MOST_FILES
    return found if more <= 1 else [*found[:MOST_FILES], f"… and {more} more"]


def outcome_answer(outcome: Outcome, said: str, way_back: str = "To undo: /goforward") -> OutcomeAnswer:
    fork = outcome.conversation.fork if outcome.conversation else None
    clear = bool(outcome.start_anew)
    code = [counts(outcome.code)] if outcome.code and not outcome.code.empty else []
    left = [f"{plural(len(outcome.remaining), 'path')} could not be restored; run `rewind ops`"] \
        if outcome.remaining else []
    return {"resume": fork["session_id"] if fork else None, "clear": clear,
            "draft": outcome.prompts[0].text if outcome.prompts and (fork or clear) else None,
            "said": ". ".join(filter(None, [said, *(f"Files: {text}" for text in code), *left, way_back]))}


def quoted(prompts: Iterable[Prompt]) -> str:
    """The first of them, in quotes and short."""
    text = next(iter(prompts)).text
    return f"“{shortened(one_line(text), _LONGEST)}”"
