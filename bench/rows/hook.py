"""A hook that decides against a checkpoint, through the shim, against the bare start of Python."""

from __future__ import annotations

import json
import os
import sys

from bench import trees
from bench.measure import interleave
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace


def _hook(place: Workplace) -> Outcome:
    """An edit a moment after another one: the commonest thing that a hook is told."""
    tree = place.plain_tree("hooked", trees.TreeSpec(1000, 600))
    rewind = place.rewind(tree.root)
    rewind.init()
    shim = _shim(place)
    transcript = place.root / "home" / ".claude" / "projects" / "x" / "s.jsonl"
    payload = {"session_id": "s", "transcript_path": str(transcript), "cwd": os.path.realpath(tree.root),
               "tool_name": "Edit", "tool_input": {"file_path": str(tree.root / tree.paths[0]),
                                                   "old_string": "a" * 100, "new_string": "b" * 100}}

    def fire(event: str, **more: object) -> None:
        os.chdir(tree.root)
        place.spawner.feed([shim, event], json.dumps({**payload, **more}).encode())

    fire("user-prompt-submit", prompt="begin", prompt_id="p")
    fire("pre-tool-use", tool_use_id="first")
    before = rewind.count()
    if before < 2:
        raise Unfaithful("the hook makes no checkpoint where it should")
    taken = interleave({"ours": lambda: fire("pre-tool-use", tool_use_id="again"),
                        "python": place.bare_python}, max(31, place.options.rounds))
    if rewind.count() != before:
        raise Unfaithful("the hook made a checkpoint where it should not")
    return compare(taken["ours"], taken["python"])


def _shim(place: Workplace) -> str:
    sys.path.insert(0, str(place.options.script.parent.parent / "src"))
    from rewind.install.shim import shim_text

    entry = place.options.script.parent.parent / "src" / "rewind" / "hooks" / "entry.py"
    path = place.root / "smart-checkpoint"
    path.write_text(shim_text(place.options.python, str(entry), str(place.root / "log")))
    path.chmod(0o755)
    return str(path)


ROWS = [Row("hook", "hook that decides 'no checkpoint' ÷ bare start of Python", 2.0, _hook)]
