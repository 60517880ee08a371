"""The code that making a branch put aside, as the history tells it, for as long as it is not back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.state import State


class _Swap:
    """Two codes that take turns: the branch's, and the one from before it. Each is known by the trees that
    were restored for it, and by what was left behind when it was exchanged for the other."""

    def __init__(self, brought: bytes, left: bytes, backup: str) -> None:
        self._brought = {brought}
        self._left = {left}
        self.aside = backup
        self.is_back = False

    def see(self, brought: bytes, left: bytes, backup: str) -> None:
        if self.is_back and brought in self._brought:
            self._left.add(left)
            self.aside, self.is_back = backup, False
        elif not self.is_back and brought in self._left:
            self._brought.add(left)
            self.is_back = True


def code_put_aside(state: State) -> dict[str, str]:
    """The backup to bring back for each branch; none for one that left the code alone, whose code was
    exchanged again since, or whose backup was collected."""
    entries = state.history().entries
    if not any(made_by(entry) for entry in entries):
        return {}
    trees = {record.name: record.tree for record in state.timeline.all()}
    found: dict[str, _Swap] = {}
    for entry in entries:
        backup = entry.get("backup_checkpoint")
        if entry.get("paths") or not isinstance(backup, str):
            continue  # it was about some files only, or about none
        # One that was collected is at least itself.
        brought, left = (trees.get(name, name.encode()) for name in (entry["checkpoint"], backup))
        for swap in found.values():
            swap.see(brought, left, backup)
        session = made_by(entry)
        if session:
            found[session] = _Swap(brought, left, backup)
    return {session: swap.aside for session, swap in found.items()
            if not swap.is_back and swap.aside in trees}


def made_by(entry: dict[str, Any]) -> str:
    """The branch that this step of the history made."""
    fork = entry.get("fork")
    return str(fork.get("sessionId") or "") if isinstance(fork, dict) else ""
