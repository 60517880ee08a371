"""What each tool brings back of the torture tree: snapshot, damage, restore, compare. Nothing on trust."""

from __future__ import annotations

import os
import time

from bench.field import make_peer
from bench.peers.peer import Missing
from bench.peers.registry import OURS, PEERS
from bench.rows.row import Checks, Row, Runner
from bench.skipped import Skipped
from bench.spawn import CommandFailed
from bench.torture import Property, build, picture, possible
from bench.workplace import Workplace, say

YES, NO, FAILS = "yes", "no", "fails"
GAVE_UP = (CommandFailed, OSError, ValueError)


def _checks(name: str) -> Runner:
    def run(place: Workplace) -> Checks:
        properties = possible(place.fresh("possible"))
        try:
            answers = _answers(place, name, properties)
            version = make_peer(place, name, place.empty(name)).version()
        except Missing as reason:
            raise Skipped(str(reason)) from None
        return Checks(name, version, answers)

    return run


def _answers(place: Workplace, name: str, properties: list[Property]) -> dict[str, str]:
    """All at once. What a tool gave up on is tried alone, so that it does not spoil the rest."""
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
    if len(properties) == 1:
        say(f"{name} cannot take a snapshot: {properties[0].what}: {str(problem)[-200:]}")
        return {properties[0].name: FAILS}
    middle = len(properties) // 2
    return {**_answers(place, name, properties[:middle]), **_answers(place, name, properties[middle:])}


def _try(place: Workplace, name: str, properties: list[Property]) -> tuple[dict[str, str], bool]:
    """What came back, and whether the tool said that its restore went well."""
    root = place.fresh(f"torture-{name}")
    build(root, properties, place.spawner.env)
    raw = os.fsencode(root)
    peer = make_peer(place, name, root)
    before = {prop.name: picture(raw, prop) for prop in properties}
    peer.first()
    mark = peer.mark()
    # Nobody should have to tell two writes within one tick of the clock apart.
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
        return picture(root, prop) == before
    except OSError:
        return False


ROWS = [Row(f"fidelity-{name}", f"what {name} brings back", None, _checks(name), "fidelity")
        for name in (OURS, *PEERS)]
