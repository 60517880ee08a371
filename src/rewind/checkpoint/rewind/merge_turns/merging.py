"""Which spans are reverted or applied, and how that is called."""

from __future__ import annotations

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.rewind.target import Merge
from rewind.checkpoint.select.spans import Span
from rewind.words import plural, printable, quoted

_DONE = {ops.REVERT: "Reverted", ops.APPLY: "Applied", ops.ADOPT: "Adopted"}


class Merging:
    def __init__(self, target: Merge, spans: list[Span]) -> None:
        self.target = target
        self.command = target.command
        self.spans = spans
        self.parts: dict[bytes, list[str]] = getattr(target, "parts", {})  # hunks by path

    def what(self) -> str:
        """'turn 2, "Add a cache"', 'turns 2 and 4' or '2 hunks in a.py (turn 2, "Add a cache")'."""
        return f"{parts_in_words(self.parts)} ({self.turns()})" if self.parts else self.turns()

    def turns(self) -> str:
        if len(self.spans) == 1:
            span = self.spans[0]
            return f"{span.label}, {quoted(printable(span.prompt))}" if span.prompt else span.label
        turns = sorted(span.turn for span in self.spans if span.turn)
        if len(turns) < len(self.spans):
            return ", ".join(span.label for span in self.spans)
        return f"turns {', '.join(map(str, turns[:-1]))} and {turns[-1]}"

    def title(self) -> str:
        return f"{_DONE[self.command]} {self.what()}"

    def notes(self) -> list[str]:
        return [f"The checkpoint before {span.label} is not exact, so edits from just before it may count as"
                f" its work: {span.before.name}" for span in self.spans if not span.exact]


def parts_in_words(parts: dict[bytes, list[str]]) -> str:
    """'a.py and 2 hunks in b.py'."""
    whole, partly = ([path for path, ids in parts.items() if bool(ids) == some] for some in (False, True))
    count = sum(len(parts[path]) for path in partly)
    return " and ".join([*([_files(whole)] if whole else []),
                         *([f"{plural(count, 'hunk')} in {_files(partly)}"] if partly else [])])


def _files(paths: list[bytes]) -> str:
    return printable(paths[0].decode("utf-8", "backslashreplace")) if len(paths) == 1 else (
        plural(len(paths), "file"))
