"""What to do in a project where nothing has happened yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import PROMPT, Controller
from rewind.install.doctor.check_hooks import check_hooks
from rewind.install.doctor.finding import OK
from rewind.install.machine.system import System

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import ProjectMap

_NO_TURNS = "No turns yet. Start your agent in this directory: each prompt appears here."
_NO_CHECKPOINTS = "Turns marked ○ have no checkpoint, so only their conversation can be brought back."


def advice(controller: Controller, project_map: ProjectMap) -> list[str]:
    """Sentences; none if turns have checkpoints."""
    prompts = [item for item in project_map.items if item.kind == PROMPT]
    if any(item.record for item in prompts):
        return []
    found = check_hooks(System(controller.project.home), str(controller.setting("tier")),
                        controller.project.root)
    faults = [f"{one.message} {one.fix}".strip() for one in found if one.status != OK]
    if prompts:
        return [_NO_CHECKPOINTS, *faults]
    return [_NO_TURNS, *faults, "Press s to save a checkpoint by hand."]
