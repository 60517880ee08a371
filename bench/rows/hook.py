"""A hook that decides against a checkpoint, as most hooks before an agent's edits do."""

from __future__ import annotations

from bench.floor import idle_hook
from bench.measure import interleave
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace


def _no_checkpoint(place: Workplace) -> Outcome:
    """An edit right after another one."""
    rewind, path = place.pair("1k").hooked, place.pair("1k").tree.paths[0]
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(rewind.project / path),
                                                "old_string": "a" * 100, "new_string": "b" * 100}}
    wait_until_written = rewind.prompt()
    wait_until_written()
    rewind.hook("pre-tool-use", tool_use_id="first", **edit)
    before = rewind.count()
    taken = interleave({"ours": lambda: rewind.hook("pre-tool-use", tool_use_id="again", **edit),
                        "python": place.bare_python, "floor": lambda: idle_hook(place)},
                       place.options.rounds)
    if rewind.count() != before:
        raise Unfaithful("the hook made a checkpoint where it should not")
    return compare(taken["ours"], taken["python"], floor=taken["floor"])


ROWS = [Row("hook-no", "hook that decides against a checkpoint ÷ bare start", 1.8, _no_checkpoint)]
