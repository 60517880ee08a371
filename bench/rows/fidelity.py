"""What each tool brings back of the torture tree: snapshot, damage, restore, compare."""

from __future__ import annotations

import os
import time

from bench.field import make_peer
from bench.peers.peer import Missing
from bench.peers.registry import OURS, PEERS
from bench.rows.row import Checks, Row, Runner
from bench.skipped import Skipped
from bench.spawn import CommandFailed
from bench.torture import Property, build, contents, supported
from bench.workplace import Workplace, say

YES, NO, FAILS = "yes", "no", "fails"
GAVE_UP = (CommandFailed, OSError, ValueError)


def _checks(name: str) -> Runner:
    def run(place: Workplace) -> Checks:
        properties = supported(place.fresh("supported"))
        try:
            answers = _answers(place, name, properties)
            version = make_peer(place, name, place.empty(name)).version()
        except Missing as reason:
            raise Skipped(str(reason)) from None
        return Checks(name, version, answers)

    return run


def _answers(place: Workplace, name: str, properties: list[Property]) -> dict[str, str]:
    """Try all properties at once. If the tool gives up, try those that were lost again one by one, so that
    one of them does not affect the others."""
    try:
        answers, finished = _try(place, name, properties)
    except GAVE_UP as problem:
        return _halves(place, name, properties, problem)
    if not finished and len(properties) > 1:
        lost = [prop for prop in properties if answers[prop.name] == NO]
        say(f"{name} gave up on a restore; {len(lost)} things are tried alone")
        for prop in lost:
            answers.update(_answers(place, name, [prop]))
    return answers


def _halves(place: Workplace, name: str, properties: list[Property], problem: Exception) -> dict[str, str]:
    """Find the properties with which the tool cannot even make a snapshot."""
    if len(properties) == 1:
        say(f"{name} cannot take a snapshot: {properties[0].what}: {str(problem)[-200:]}")
        return {properties[0].name: FAILS}
    middle = len(properties) // 2
    return {**_answers(place, name, properties[:middle]), **_answers(place, name, properties[middle:])}


def _try(place: Workplace, name: str, properties: list[Property]) -> tuple[dict[str, str], bool]:
    """What was restored, and whether the tool reported a successful restore."""
    root = place.fresh(f"torture-{name}")
    build(root, properties, place.spawner.env)
    raw = os.fsencode(root)
    peer = make_peer(place, name, root)
    before = {prop.name: contents(raw, prop) for prop in properties}
    peer.first()
    mark = peer.mark()
    # No tool should have to distinguish two writes within one tick of the clock.
    time.sleep(0.05)
    for prop in properties:
        prop.damage(raw)
    finished = True
    try:
        peer.restore(mark)
    except GAVE_UP:
        finished = False
    return {prop.name: YES if _same(raw, prop, before[prop.name]) else NO for prop in properties}, finished


def _same(root: bytes, prop: Property, before: object) -> bool:
    try:
        return contents(root, prop) == before
    except OSError:
        return False


ROWS = [Row(f"fidelity-{name}", f"what {name} brings back", None, _checks(name), "fidelity")
        for name in (OURS, *PEERS)]
