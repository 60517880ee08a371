"""`rewind show`."""

from __future__ import annotations

import json
import os

from chat_scene import Scene
from cli.conftest import InProcess
from rewind_cli import Rewind, paths_of


def test_show_says_when_why_and_what_changed(two: Rewind) -> None:
    newest, oldest = two.names()
    text = two.ok("show", "last").out
    lines = text.splitlines()
    assert lines[0] == newest and lines[1] == "  two"
    assert "manual" in text and "3 files" in text and oldest in text
    assert "1 added, 1 modified, 0 deleted" in text
    assert "~ README.md" in text and "+ new.txt" in text


def test_show_of_the_first_one_has_no_parent(two: Rewind) -> None:
    assert "this is the first checkpoint" in two.ok("show", "prev").out
    assert two.json("show", "prev")["changes"] is None


def test_the_child_of_a_collected_checkpoint_is_the_first_one(two: Rewind) -> None:
    two.ok("gc", "--keep", "1")
    assert "this is the first checkpoint" in two.ok("show", "last").out
    assert two.json("show", "last")["changes"] is None


def test_show_as_json_is_the_record_and_the_changes(two: Rewind) -> None:
    answer = two.json("show", "last")
    assert answer["name"] == two.names()[0] and answer["kind"] == "manual"
    assert answer["code"]["fileCount"] == 3
    assert paths_of(answer["changes"]["added"]) == {b"new.txt"}
    assert paths_of(answer["changes"]["modified"]) == {b"README.md"}
    assert "files" not in answer


def test_show_lists_every_path_with_mode_and_size(two: Rewind) -> None:
    (two.project / "run.sh").write_text("x")
    (two.project / "run.sh").chmod(0o750)
    (two.project / "link").symlink_to("README.md")
    (two.project / "empty").mkdir(mode=0o755)
    (two.project / "node_modules").mkdir()
    two.ok("save")
    lines = two.ok("show", "last", "--files").out.splitlines()
    assert any(line.split() == ["0750", "1", "B", "run.sh"] for line in lines)
    assert any(line.endswith("link -> README.md") for line in lines)
    assert any(line.endswith("empty/") for line in lines)
    assert any("node_modules" in line and "not captured" in line for line in lines)
    files = {item["path"]: item for item in two.json("show", "last", "--files")["files"]}
    assert files["run.sh"] == {"path": "run.sh", "kind": "file", "mode": "0750", "size": 1}
    assert files["link"]["target"] == "README.md" and files["empty"]["kind"] == "directory"
    assert files["node_modules"] == {"path": "node_modules", "kind": "uncovered", "reason": "skip-list"}


def test_show_escapes_names_and_texts(two: Rewind) -> None:
    with open(os.path.join(os.fsencode(two.project), b"odd\xff\n\x1b[2J"), "w"):
        pass
    two.ok("save", "a\x1b]0;title\x07b")
    for args in (["show", "last"], ["show", "last", "--files"]):
        assert "\x1b" not in two.ok(*args).out
        assert "odd\\xff\\n\\x1b[2J" in two.ok(*args).out


def test_show_tells_of_a_trigger_and_a_transcript(two: Rewind) -> None:
    """Later issues write these fields; what is in them may be anything."""
    name = two.names()[0]
    file = two.state / "checkpoints" / name / "metadata.json"
    data = json.loads(file.read_bytes())
    data["trigger"] = {"event": "PreToolUse", "tool": "Edit", "file": "src/app.py"}
    data["hasTranscript"] = True
    data["transcript"] = {"agent": "claude", "sessionId": "abc",
                          "cursor": {"byte_offset_end": 2048, "last_event_id": "e-1"}}
    file.write_text(json.dumps(data))
    text = two.ok("show", name).out
    assert "PreToolUse  Edit  src/app.py" in text
    assert "claude, 2.0 KB, session abc" in text and "last event  e-1" in text
    data["transcript"] = {"cursor": 5}
    file.write_text(json.dumps(data))
    assert "unknown" in two.ok("show", name).out


def test_show_keeps_long_lists_short(two: Rewind) -> None:
    for number in range(30):
        (two.project / f"file{number}").write_text("x")
    two.ok("save")
    text = two.ok("show", "last").out
    assert "… and 20 more" in text and len(text.splitlines()) < 20


def test_show_tells_the_last_prompt_before_it(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.do("write a\nand b", a="one\n")
    name = scene.save("Stop").name
    assert "turn 1: write a and b" in cli.ok("show", name).out and "(+1 lines)" in cli.ok("show", name).out
    prompt = cli.json("show", name)["prompt"]
    assert prompt == {"session_id": scene.session, "turn": 1, "text": "write a and b"}
    assert cli.json("show", "prev")["prompt"] is None


def test_a_name_that_is_nearly_right_is_answered_with_the_nearest(two: Rewind) -> None:
    newest = two.names()[0]
    wrong = newest[:-3] + "999"
    two.fails(12, "show", wrong, hint=f"rewind show {newest}")
    two.fails(12, "show", "lasst", hint="rewind show last")
    two.fails(12, "show", "lst", hint="rewind show last")
    two.fails(12, "show", "first one", hint="rewind show 1")
    assert two.json("show", "first check")["name"] == two.names()[1], "by its description"
    two.fails(12, "show", "nothing like it", hint="rewind list --all")
