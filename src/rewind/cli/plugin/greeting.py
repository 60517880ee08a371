"""What the client shows when a session starts, if something is wrong; and an optional line above the
prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewind import __version__
from rewind.controller import Controller, load_usable
from rewind.install.doctor.doctor import examine
from rewind.install.doctor.finding import PROBLEM
from rewind.paths import current_dir, find_project, rewind_home
from rewind.words import file_count, plural

BAND = "plugin.band"


def greeting(asked: Any, environ: Mapping[str, str]) -> Mapping[str, object]:
    start, home = asked.project or current_dir(), rewind_home()
    project = find_project(start, home)
    settings, _ = load_usable(home, project.state if project else None)
    return {"line": _other_version(asked.mod) or _first_problem(home, start, environ),
            "wantsBand": bool(settings.get(BAND)), "version": __version__}


def _other_version(mod: str) -> str:
    if mod == __version__:
        return ""
    return (f"Rewind's plugin is version {mod or 'unknown'} and Rewind itself {__version__}. Update the older"
            " one: `rewind install`, or `claude plugin update rewind@rewind`.")


def _first_problem(home: str, start: str, environ: Mapping[str, str]) -> str | None:
    """Empty if there are only warnings."""
    found = next((one for one in examine(home, start, environ) if one.status == PROBLEM), None)
    return f"Rewind: {found.message} {found.fix}".strip() if found else None


def band(controller: Controller, asked: Any) -> dict[str, str]:
    here = controller.here()
    changes = controller.changes_with(here) if here else None
    count = file_count(changes) if changes else 0
    parts = [f"turn {asked.turns}", here.name if here else "no checkpoint",
             f"{plural(count, 'file')} changed" if count else "nothing changed"]
    return {"band": "Rewind: " + " · ".join(parts)}
