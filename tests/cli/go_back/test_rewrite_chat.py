"""`rewind rewrite-chat`: deprecated, says so, and does nothing without the typed word."""

from __future__ import annotations

import io

import pytest

from chat_scene import Scene, client_is_running, prompts_of
from cli.conftest import InProcess


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.do("one", a="1")
    scene.first = scene.save().name
    scene.do("two", a="2")
    return scene


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_the_typed_word_cuts_the_transcript_and_leaves_the_code(scene: Scene,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scene.path.read_bytes()
    typed(monkeypatch, "REWRITE\n")
    result = scene.cli.ok("rewrite-chat", scene.first)
    assert "Chat rewritten in-place" in result.out and "deprecated" in result.err
    assert "back --in-place" in result.err
    assert prompts_of("claude", scene.path) == ["one"] and scene.read("a") == "2"
    assert next((scene.cli.state / "transcript-backup").iterdir()).read_bytes() == whole
    scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == whole


def test_anything_else_changes_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    before = scene.agent_files()
    for text in ("", "\n", "rewrite\n", "yes\n", "REWRITE it\n"):
        typed(monkeypatch, text)
        scene.cli.fails(1, "rewrite-chat", scene.first, hint="REWRITE")
    assert scene.agent_files() == before and not (scene.cli.state / "transcript-backup").exists()


def test_an_open_session_is_refused(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    client_is_running(scene.cli.home, scene.session)
    before = scene.agent_files()
    typed(monkeypatch, "REWRITE\n")
    scene.cli.fails(13, "rewrite-chat", scene.first)
    assert scene.agent_files() == before
    typed(monkeypatch, "REWRITE\n")
    scene.cli.ok("rewrite-chat", scene.first, "--force")


def test_a_dry_run_asks_nothing_and_changes_nothing(scene: Scene) -> None:
    before = scene.agent_files()
    assert scene.cli.json("rewrite-chat", scene.first, "--dry-run")["dryRun"] is True
    assert scene.first in scene.cli.ok("rewrite-chat", scene.first, "--dry-run").out
    assert scene.agent_files() == before


def test_a_checkpoint_without_a_conversation_is_told(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.init()
    typed(monkeypatch, "REWRITE\n")
    assert "no conversation" in cli.fails(1, "rewrite-chat", "last")


def test_an_unknown_checkpoint_is_told_before_anything_is_asked(scene: Scene) -> None:
    scene.cli.fails(12, "rewrite-chat", "20000101_000000_001")
