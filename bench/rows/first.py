"""The first checkpoint of a project: by the hooks of an agent that starts in a fresh clone, and by
`rewind init`."""

from __future__ import annotations

import os

from bench.floor import reading_floors
from bench.measure import Action, Sample, interleave
from bench.ours import Rewind
from bench.peers.opencode import Opencode
from bench.peers.peer import Peer
from bench.peers.shadow import ShadowRepository
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace


def in_turns(place: Workplace, rewind: Rewind, ours: Action, peer: Peer, rounds: int,
             **more: Action) -> dict[str, Sample]:
    """Remove each store right after its turn, so that neither side waits for the other's data to be
    written."""
    def start_over(who: str) -> None:
        if who == "ours":
            rewind.wait_until_idle(place.options.settle)
            if not rewind.count():
                raise Unfaithful("there is no first checkpoint")
            rewind.forget()
        peer.remove()
        os.sync()

    os.sync()
    return interleave({"ours": ours, "theirs": peer.first, **more}, rounds, after=start_over)


def _first_prompt(place: Workplace) -> Outcome:
    """From the start of the agent until it can handle the first prompt. Two hooks run."""
    project = place.copy("clone")
    rewind = place.rewind(project)

    def ours() -> Action:
        rewind.hook("session-start", source="startup")
        return rewind.prompt()

    opencode = Opencode(place.spawner, project, place.fresh("clone.git"))
    taken = in_turns(place, rewind, ours, opencode, place.options.few,
                     **reading_floors(place, place.repository(), project))
    return compare(taken["ours"], taken["theirs"], f"slowest {max(taken['ours'].values):,.0f} ms",
                   taken.get("floor"))


def _init(place: Workplace) -> Outcome:
    project = place.copy("first")
    rewind = place.rewind(project)
    shadow = ShadowRepository(place.spawner, project, place.fresh("shadow.git"))
    taken = in_turns(place, rewind, rewind.init, shadow, place.options.few)
    return compare(taken["ours"], taken["theirs"])


ROWS = [
    Row("first-prompt", "first prompt in a fresh clone ÷ opencode's first snapshot", 1.0,
        _first_prompt),
    Row("init", "`rewind init` ÷ a full shadow repository", 0.3, _init),
]
