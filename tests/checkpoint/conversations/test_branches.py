"""`branches.json`: what Rewind knows of its forks; a damaged one is told, never guessed at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.checkpoint.project.known_forks import KnownForks
from rewind.errors import FormatTooNew, StoreDamaged

cli = in_process.cli  # the fixture


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.say("one", "two", "three")
    return scene


def branches(scene: Scene) -> KnownForks:
    return KnownForks(scene.controller().state.project)


def test_a_fork_is_noted_with_its_parent_and_turn(scene: Scene) -> None:
    fork = scene.cli.json("back", "2")["fork"]
    found = branches(scene).find(fork["session_id"])
    assert found is not None
    assert found["parentSessionId"] == scene.session and found["rewindFromTurn"] == 1
    assert found["name"] is None and found["archived"] is False and found["rewindedAt"].endswith("Z")
    assert found["path"] == fork["path"] and found["size"] == Path(fork["path"]).stat().st_size
    assert (scene.cli.state / "branches.json").stat().st_mode & 0o777 == 0o600
    assert branches(scene).parent_of(fork["session_id"]) == scene.session
    assert branches(scene).parent_of("nobody") is None


def test_without_the_file_there_are_no_branches(scene: Scene) -> None:
    assert branches(scene).all == []


def test_what_another_version_wrote_beside_it_is_kept(scene: Scene) -> None:
    scene.cli.ok("back")
    path = scene.cli.state / "branches.json"
    data = json.loads(path.read_text())
    data["extra"] = {"a": 1}
    data["branches"][0]["colour"] = "red"
    path.write_text(json.dumps(data))
    branches(scene).change(data["branches"][0]["sessionId"], {"name": "x"})
    found = json.loads(path.read_text())
    assert found["extra"] == {"a": 1} and found["branches"][0]["colour"] == "red"
    assert found["branches"][0]["name"] == "x"


def test_a_session_that_rewind_did_not_make_is_noted_as_such(scene: Scene) -> None:
    branches(scene).change("native", {"name": "x"})
    assert branches(scene).find("native") == {"sessionId": "native", "parentSessionId": None, "made": False,
                                              "name": "x"}
    branches(scene).remove("native")
    assert branches(scene).all == []


def test_one_that_cannot_be_read_is_damage_that_says_what_to_do(scene: Scene) -> None:
    for text in ("{", "[]", '{"branches": 7}', '{"branches": [7]}', '{"branches": [{}]}', "", "[" * 100_000,
                 '{"branches": [{"sessionId": 7}]}',
                 '{"branches": [{"sessionId": "a", "parentSessionId": 7}]}'):
        (scene.cli.state / "branches.json").write_text(text)
        with pytest.raises(StoreDamaged) as caught:
            branches(scene)
        assert "branches.json" in caught.value.message and "Move this file away" in caught.value.hint


def test_one_that_cannot_be_read_stops_a_fork_before_it_is_made(scene: Scene) -> None:
    (scene.cli.state / "branches.json").write_text("{")
    before = scene.agent_files()
    scene.cli.fails(20, "back", hint="Move this file away")
    assert scene.agent_files() == before


def test_one_that_cannot_be_read_does_not_stop_a_checkpoint(scene: Scene) -> None:
    (scene.cli.state / "branches.json").write_text("{")
    assert scene.cli.ok("save")


def test_one_of_a_newer_rewind_is_not_touched(scene: Scene) -> None:
    path = scene.cli.state / "branches.json"
    path.write_text('{"format": 99, "branches": []}')
    with pytest.raises(FormatTooNew):
        branches(scene)
    scene.cli.fails(1, "back", hint="Upgrade")
    assert path.read_text() == '{"format": 99, "branches": []}'


def test_the_same_fork_is_noted_once(scene: Scene) -> None:
    entry: dict[str, Any] = {"sessionId": "a", "parentSessionId": "b"}
    found = branches(scene)
    found.add(entry)
    found.add({**entry, "name": "x"})
    assert branches(scene).all == [{**entry, "name": "x"}]
