"""List all your projects that have checkpoints, including those whose directory is gone.

The checkpoints of a project that is gone can be written to another directory:
`rewind -C /path/that/was restore last --to DIR`. If another project is at that path now, name the
directory that the list shows.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, note, print_json
from rewind.cli.output.style import paint
from rewind.controller import all_projects
from rewind.paths import rewind_home
from rewind.words import plural, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.project.all_projects import ProjectInfo

    class ProjectJson(TypedDict):
        root: str
        state: str
        exists: bool
        mode: str
        checkpoints: int
        last: str | None
        places: list[str]

summary = "list all your projects that have checkpoints"
examples = ("rewind projects", "rewind projects --json",
            "rewind -C /path/that/was restore last --to DIR    # of a project that is gone")


def arguments(parser: Parser) -> None:
    parser.add_argument("--missing", action="store_true", help="only those whose directory is gone")


def run(args: Args) -> int:
    found = [one for one in all_projects(rewind_home()) if not (args.missing and one.exists)]
    if args.json:
        print_json({"projects": [_json(one) for one in found]})
        return 0
    if not found:
        note("No project has checkpoints yet. To protect one: rewind init")
    for one in found:
        _print(one)
    gone = next((one for one in found if not one.exists and one.mode == "global"), None)
    if gone:
        named = gone.state if gone.replaced else gone.root
        note(f"To bring one back: rewind -C {safe(shlex.quote(named))} restore last --to DIR")
    return 0


def _json(one: ProjectInfo) -> ProjectJson:
    return {"root": one.root, "state": one.state, "exists": one.exists, "mode": one.mode,
            "checkpoints": one.checkpoints, "last": one.last or None, "places": one.places}


def _print(one: ProjectInfo) -> None:
    facts = [plural(one.checkpoints, "checkpoint"), f"last {_shown(one.last)}" if one.last else "",
             plural(len(one.places), "work tree") + " besides" if one.places else "",
             "in the project" if one.mode == "project" else "",
             f"replaced; see {one.state}" if one.replaced else "" if one.exists else "directory gone"]
    print(f"{safe(one.root)}  {paint(', '.join(fact for fact in facts if fact), 'dim')}")


def _shown(name: str) -> str:
    return f"{name[:4]}-{name[4:6]}-{name[6:8]} {name[9:11]}:{name[11:13]} UTC"
