"""What lies beside a transcript comes along where it can, and what is not understood is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewind.agents.registry import profile_named
from rewind.transcript.write.sidecars import (
    add_to_index,
    copy_sidecars,
    remove_from_index,
    sidecar_paths,
    update_index,
)

pytestmark = pytest.mark.usefixtures("home")
INDEX = "sessions-index.json"


def write_settings(folder: Path, data: Any) -> str:
    (folder / "a.settings.json").write_text(data if isinstance(data, str) else json.dumps(data))
    return str(folder / "a.jsonl")


def test_droids_settings_come_along_without_what_the_old_session_used(tmp_path: Path) -> None:
    source = write_settings(tmp_path, {"model": "m", "autonomy": {"a": "é"}, "tokenUsage": {"in": 9},
                                       "archivedAt": "x", "lastCallTokenUsage": 1,
                                       "assistantActiveTimeMs": 3})
    copy_sidecars(source, str(tmp_path / "b.jsonl"), profile_named("droid"))
    copied = tmp_path / "b.settings.json"
    assert json.loads(copied.read_text("utf-8")) == {"model": "m", "autonomy": {"a": "é"}}
    assert copied.stat().st_mode & 0o777 == 0o600
    assert "tokenUsage" in (tmp_path / "a.settings.json").read_text()


@pytest.mark.parametrize("text", ["{", "[]", "", "null", "[" * 100_000])
def test_settings_that_cannot_be_read_are_left_out(tmp_path: Path, text: str) -> None:
    source = write_settings(tmp_path, text)
    copy_sidecars(source, str(tmp_path / "b.jsonl"), profile_named("droid"))
    assert not (tmp_path / "b.settings.json").exists()


def test_what_could_not_be_copied_is_told(tmp_path: Path) -> None:
    source = write_settings(tmp_path, {"model": "m"})
    assert copy_sidecars(source, str(tmp_path / "b.jsonl"), profile_named("droid")) == []
    (said,) = copy_sidecars(source, str(tmp_path / "missing" / "b.jsonl"), profile_named("droid"))
    assert "a.settings.json could not be copied" in said


def test_claude_has_nothing_beside_its_transcripts(tmp_path: Path) -> None:
    source = write_settings(tmp_path, {"a": 1})
    copy_sidecars(source, str(tmp_path / "b.jsonl"), profile_named("claude"))
    assert not (tmp_path / "b.settings.json").exists()
    assert sidecar_paths(source, profile_named("claude")) == []
    assert sidecar_paths(source, profile_named("droid")) == [str(tmp_path / "a.settings.json")]


def test_no_index_is_ever_created(tmp_path: Path) -> None:
    add_to_index(str(tmp_path), {"sessionId": "x"})
    remove_from_index(str(tmp_path), "x")
    update_index(str(tmp_path), "x", {"modified": "now"})
    assert not (tmp_path / INDEX).exists()


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: {"version": 1, "entries": e},
                                  lambda e: {"sessions": e, "more": {"kept": True}}])
def test_an_index_is_kept_true_and_all_else_in_it_stays(tmp_path: Path, wrap: Any) -> None:
    odd = ["not", "an entry"]
    path = tmp_path / INDEX
    path.write_text(json.dumps(wrap([{"sessionId": "a", "x": 1}, odd])))
    add_to_index(str(tmp_path), {"sessionId": "b"})
    assert json.loads(path.read_text()) == wrap([{"sessionId": "a", "x": 1}, odd, {"sessionId": "b"}])
    update_index(str(tmp_path), "a", {"modified": "now"})
    remove_from_index(str(tmp_path), "b")
    assert json.loads(path.read_text()) == wrap([{"sessionId": "a", "x": 1, "modified": "now"}, odd])


@pytest.mark.parametrize("text", ["{", "7", '{"entries": {}}', "{}", ""])
def test_an_index_that_is_not_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / INDEX
    path.write_text(text)
    add_to_index(str(tmp_path), {"sessionId": "b"})
    assert path.read_text() == text
