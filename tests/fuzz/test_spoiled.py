"""Spoiled input of every kind, a few cases of each; `scripts/torture fuzz` tries as many as time allows."""

from __future__ import annotations

import pytest

from fuzz.fuzz_targets import TARGETS, run_case
from fuzz.fuzz_world import World, make_world

pytestmark = pytest.mark.slow

CASES = 8


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("fuzz") / "world")


def test_in_the_world_as_it_was_made_every_command_works(world: World) -> None:
    world.make_anew()
    for argv in (
        ("list",),
        ("sessions", "show"),
        ("back", "1"),
        ("restore", "2"),
        ("validate", "--deep"),
        ("import", str(world.archive)),
    ):
        assert world.run(*argv) == 0, argv


@pytest.mark.parametrize("target", TARGETS)
def test_whatever_is_spoiled_no_command_breaks(target: str, world: World) -> None:
    for seed in range(CASES):
        run_case(target, seed, world)


@pytest.mark.parametrize("seed", [253, 353], ids=["half a character", "a null byte in a path"])
def test_what_once_broke_a_command_does_so_no_more(seed: int, world: World) -> None:
    run_case("transcripts", seed, world)
