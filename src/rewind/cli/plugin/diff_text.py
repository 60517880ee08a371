"""What going to a checkpoint would change in the files, as text that is short enough for a pane."""

from __future__ import annotations

from rewind.cli.output.patch import patch, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.controller import Controller

MOST_LINES = 300
_LONGEST = 300


def diff_text(controller: Controller, checkpoint: str) -> str:
    """From the project as it is now to the checkpoint; empty without one."""
    if not checkpoint:
        return ""
    lines: list[str] = []
    for line in _lines(controller, checkpoint):
        if len(lines) == MOST_LINES:
            return "\n".join([*lines, f"… more: rewind diff {checkpoint}"])
        lines.append(line[:_LONGEST])
    return "\n".join(lines)


def _lines(controller: Controller, checkpoint: str) -> Iterator[str]:
    with controller.diff(checkpoint) as found:
        for path, then, now in found.changes:
            for line in patch(path, now, then, found.new.content, found.old.content):
                yield readable(line)
