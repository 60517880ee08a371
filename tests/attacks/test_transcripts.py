"""A transcript that is exchanged for something else between the check and its use.

A transcript that grows, shrinks or is rewritten while it is copied: `transcript/write/test_fork.py` and
`transcript/write/test_in_place.py`. Paths in records and payloads that lie elsewhere from the start:
`checkpoint/rewind/test_go_back.py`, `checkpoint/conversations/test_which_session.py` and
`hooks/test_event.py`.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene
from cli.conftest import InProcess, cli  # noqa: F401
from rewind.checkpoint.conversations import bring_back
from rewind.transcript.kinds import jsonl_tree

SECRET = b'{"type":"user","secret":"of somebody else"}\n' * 2000


@pytest.fixture
def talk(cli: InProcess) -> Scene:  # noqa: F811
    scene = Scene(cli)
    scene.do("first", a="1")
    scene.first = scene.save("Stop").name
    scene.do("second", a="2")
    scene.second = scene.save("Stop").name
    return scene


def swapped_after(monkeypatch: pytest.MonkeyPatch, name: str, path: Path, outside: Path) -> None:
    """The transcript becomes a link to another file right after this function was called."""
    module: Any = jsonl_tree if name == "resolve_cut" else bring_back
    real: Any = getattr(module, name)

    def swapping(*args: Any, **more: Any) -> Any:
        found = real(*args, **more)
        if not path.is_symlink():
            path.rename(path.with_suffix(".aside"))
            path.symlink_to(outside)
        return found

    monkeypatch.setattr(module, name, swapping)


@pytest.mark.parametrize("moment", ["checked_path", "_in_original", "resolve_cut", "turns_before"])
@pytest.mark.parametrize("how", [["--context-only"], ["--context-only", "--in-place", "--force"]],
                         ids=["fork", "in place"])
def test_a_link_put_in_its_place_is_not_read(talk: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             moment: str, how: list[str]) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(talk.path.read_bytes().replace(b"first", b"LEAKS") + SECRET)
    before = outside.read_bytes()
    swapped_after(monkeypatch, moment, talk.path, outside)
    talk.cli.run("restore", talk.first, *how)
    assert outside.read_bytes() == before
    for path in [*talk.forks(), *(talk.cli.state / "transcript-backup").glob("*")]:
        assert b"LEAKS" not in path.read_bytes() and b"somebody else" not in path.read_bytes(), path


def test_a_transcript_that_grows_shrinks_and_is_replaced_during_saves_and_forks(talk: Scene) -> None:
    """Whatever the moment, a checkpoint holds a beginning of one of its states, in whole lines."""
    whole = talk.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    states = [b"".join(lines[:n]) for n in range(1, len(lines) + 1)]
    stop = threading.Event()

    def meddle() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            data = states[number * 7 % len(states)]
            if number % 3 == 0:
                temp = talk.path.with_suffix(".new")
                temp.write_bytes(data)
                os.replace(temp, talk.path)
            else:
                with open(talk.path, "r+b") as file:
                    file.truncate(len(data))
                    file.write(data)

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        for _ in range(12):
            talk.save("Stop")
            talk.cli.run("restore", talk.first, "--context-only")
    finally:
        stop.set()
        thread.join()
        talk.path.write_bytes(whole)
    assert talk.cli.run("validate", "--deep").code == 0
    for path in talk.forks():
        assert path.read_bytes().endswith(b"\n")
