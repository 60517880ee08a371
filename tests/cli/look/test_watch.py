"""`rewind watch`: a real process, which is told to stop as a person would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from rewind.cli.look.watch import Watcher
from rewind.controller import Controller


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.say("what was before")
    return scene


class Watching:
    def __init__(self, cli: InProcess, *args: str) -> None:
        self.process = subprocess.Popen([*cli.command, "watch", "--interval", "0.05", *args], cwd=cli.project,
                                        env=cli.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stderr and b"Watching" in self.process.stderr.readline()

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().decode().rstrip("\n")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=90)
        return self.process.returncode


@pytest.fixture
def watching(scene: Scene) -> Iterator[Any]:
    running: list[Watching] = []

    def start(*args: str) -> Watching:
        running.append(Watching(scene.cli, *args))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_prompts_and_checkpoints_appear_and_ctrl_c_is_a_good_end(scene: Scene, watching: Any) -> None:
    watch = watching()
    scene.do("write a", a="one\n")
    assert f"prompt      {scene.session[:8]}  turn 2: write a" in watch.line()
    name = scene.save("Stop").name
    line = watch.line()
    assert f"checkpoint  {name}  Stop" in line and "(+1 in 1 file)" in line
    assert watch.stop() == 0


def test_with_json_each_line_is_an_object(scene: Scene, watching: Any) -> None:
    watch = watching("--json")
    scene.do("write a", a="one\n")
    turn = json.loads(watch.line())
    assert (turn["event"], turn["turn"], turn["prompt"]) == ("turn", 2, "write a")
    name = scene.save("Stop").name
    found = json.loads(watch.line())
    assert (found["event"], found["checkpoint"], found["sessionId"]) == ("checkpoint", name, scene.session)
    assert found["changes"] == {"files": 1, "insertions": 1, "deletions": 0}
    assert watch.stop() == 0


# the watcher itself

@pytest.fixture
def watcher(scene: Scene) -> Watcher:
    return Watcher(Controller(str(scene.cli.project)))


def test_what_is_there_already_is_no_news(scene: Scene, watcher: Watcher) -> None:
    assert list(watcher.look()) == []


def test_everything_is_told_once(scene: Scene, watcher: Watcher) -> None:
    scene.say("one", "two")
    scene.save("Stop")
    assert [event["event"] for event in watcher.look()] == ["turn", "turn", "checkpoint"]
    assert list(watcher.look()) == []


def test_a_new_session_is_news_and_what_a_fork_begins_with_is_not(scene: Scene, watcher: Watcher) -> None:
    scene.say("a second one")
    assert len(list(watcher.look())) == 1
    scene.cli.ok("back")
    assert [event for event in watcher.look() if event["event"] == "turn"] == []
    Scene(scene.cli, session="0000abcd-0000-4000-8000-000000000001").say("hello")
    assert [event["prompt"] for event in watcher.look()] == ["hello"]


def test_a_checkpoint_that_is_being_made_waits(scene: Scene, watcher: Watcher) -> None:
    folder = scene.cli.state / "checkpoints" / "20261115_101502_003"
    folder.mkdir()
    assert list(watcher.look()) == []


def test_a_look_at_rest_opens_no_transcript(scene: Scene, watcher: Watcher,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    scene.make_old()
    monkeypatch.setattr("rewind.transcript.find.open_transcript", lambda path: pytest.fail("opened"))
    assert list(watcher.look()) == [] and os.path.exists(scene.path)


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "inf", "1e400"])
def test_an_interval_is_a_number_above_nothing(two: InProcess, seconds: str) -> None:
    two.fails(2, "watch", f"--interval={seconds}", hint="--interval 5")
