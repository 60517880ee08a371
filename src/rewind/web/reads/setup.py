"""Which agents are there, and whether they call Rewind. The page shows this before the first session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Controller
from rewind.install.doctor.check_hooks import AgentHooks
from rewind.install.machine.installer import agents_found, agents_with_hooks
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.agents.profile import Profile
    from rewind.web.reads import answer_types

REGISTER = "rewind config --register-hooks"


def setup(controller: Controller, query: Query) -> answer_types.Setup:
    home, root = controller.project.home, controller.project.root
    used = {profile.name for profile in agents_found(home)}
    return {"register": REGISTER, "agents": [
        {"name": profile.name, "title": profile.title, "used": profile.name in used,
         "hooks": _hooks(profile, root) if profile.name in used else "missing"}
        for profile in agents_with_hooks(home)]}


def _hooks(profile: Profile, root: str) -> str:
    """`registered`, `off` (all hooks are turned off), `missing`, or `unknown` (unreadable settings)."""
    agent = AgentHooks(profile, root)
    if agent.off:
        return "off"
    if agent.errors and not agent.plugin:
        return "unknown"
    return "registered" if agent.found or agent.plugin else "missing"
