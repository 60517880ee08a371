"""What the Claude Code plugin asks, and what it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene, client_is_running
from cli.conftest import InProcess
from rewind import __version__

LEAVING = "rewind.checkpoint.rewind.conversation.leaving"


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    """Three turns, each with its checkpoint before: `a` is written, then `b` is made, then `a` is changed."""
    found = Scene(cli)
    for number, files in enumerate(({"a": "one\n"}, {"b": "made\n"}, {"a": "two\n"}), 1):
        found.save("UserPromptSubmit", promptId=f"p{number}")
        found.do(f"turn {number}", **files)
        found.save("Stop", promptId=f"p{number}")
    return found


def ask(scene: Scene, action: str, *args: str, session: str = "") -> dict[str, Any]:
    result = scene.cli.run("__plugin", action, "--json", f"--session={session or scene.session}", *args)
    assert result.code == 0, result
    assert result.data["interface"] == 1
    return dict(result.data)


def go(scene: Scene, action: str, *args: str, session: str = "") -> dict[str, Any]:
    plan = ask(scene, action, *args, session=session)
    return ask(scene, action, *args, f"--digest={plan['digest']}", session=session)


def refused(scene: Scene, code: int, action: str, *args: str) -> str:
    result = scene.cli.run("__plugin", action, "--json", f"--session={scene.session}", *args)
    assert result.code == code, result
    error = json.loads(result.err.splitlines()[-1])["error"]
    return f"{error['message']} {error['hint']}"


def test_a_plan_is_shown_before_anything_is_done(scene: Scene) -> None:
    plan = ask(scene, "goback", "--typed=2")
    assert plan["question"] == "Go back to before “turn 2”?"
    assert "Takes back 2 prompts" in plan["lines"][0] and "Files: 1 written, 1 deleted" in plan["lines"]
    assert plan["files"] == ["~ a.txt", "- b.txt"]
    assert scene.read("a") == "two\n" and scene.forks() == []


def test_agreed_to_it_names_the_fork_and_the_draft(scene: Scene) -> None:
    done = go(scene, "goback", "--typed=2")
    assert (scene.read("a"), scene.read("b")) == ("one\n", None)
    assert scene.folder.joinpath(f"{done['resume']}.jsonl") in scene.forks()
    assert (done["draft"], done["clear"]) == ("turn 2", False)
    assert scene.fork() == ["turn 1"]


def test_another_plan_than_the_one_shown_is_not_carried_out(scene: Scene) -> None:
    plan = ask(scene, "goback")
    scene.write(a="by hand\n")
    refused(scene, 13, "goback", f"--digest={plan['digest']}")
    assert scene.read("a") == "by hand\n" and scene.forks() == []


def test_the_conversation_alone(scene: Scene) -> None:
    assert "The files stay as they are." in ask(scene, "goback", "--typed=--chat")["lines"]
    assert go(scene, "goback", "--typed=1 --chat")["draft"] == "turn 3"
    assert scene.read("a") == "two\n"


@pytest.mark.parametrize("typed", ["two", "0", "-1", "1 2", "--chat --chat", "--both", "٣", "1e3", "9" * 400])
def test_what_is_no_number_of_prompts_is_said(scene: Scene, typed: str) -> None:
    assert "How many prompts?" in refused(scene, 2, "goback", f"--typed={typed}")


def test_prompts_that_the_client_took_back_itself_count(scene: Scene) -> None:
    assert go(scene, "goback", "--gone=1")["draft"] == "turn 2"


def test_before_the_first_prompt_an_empty_conversation_is_asked_for(scene: Scene) -> None:
    done = go(scene, "goback", "--typed=3")
    assert (done["resume"], done["clear"], done["draft"]) == (None, True, "turn 1")
    assert scene.read("a") is None


def test_forward_names_the_session_to_return_to(scene: Scene) -> None:
    fork = go(scene, "goback")["resume"]
    plan = ask(scene, "goforward", session=fork)
    assert plan["resume"] == scene.session
    assert plan["question"].startswith("Undo this step: went back to before")
    assert not any(fork in line for line in plan["lines"])
    ask(scene, "goforward", f"--digest={plan['digest']}")
    assert scene.read("a") == "two\n" and scene.forks() == []


def test_forward_waits_until_the_client_says_that_it_has_left_the_fork(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = go(scene, "goback")["resume"]
    plan = ask(scene, "goforward", session=fork)
    register = client_is_running(scene.cli.home, fork)
    left: list[float] = []

    def leave(seconds: float) -> None:
        left.append(seconds)
        if len(left) == 3:
            client_is_running(scene.cli.home, scene.session)

    monkeypatch.setattr(f"{LEAVING}.time.sleep", leave)
    monkeypatch.setattr(f"{LEAVING}._LAST_LINE", 0)
    ask(scene, "goforward", f"--digest={plan['digest']}", session=fork)
    assert len(left) == 3 and scene.session in register.read_text()
    assert scene.forks() == []


def test_forward_waits_for_the_last_line_of_the_client_that_has_left(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code writes it where the fork was, although the file is gone."""
    fork = go(scene, "goback")["resume"]
    plan = ask(scene, "goforward", session=fork)
    client_is_running(scene.cli.home, scene.session)
    path = scene.folder / f"{fork}.jsonl"
    left: list[float] = []

    def write(seconds: float) -> None:
        left.append(seconds)
        if len(left) == 3:
            last_line(path)

    monkeypatch.setattr(f"{LEAVING}.time.sleep", write)
    ask(scene, "goforward", f"--digest={plan['digest']}", session=fork)
    assert len(left) == 3 and scene.forks() == []


def test_a_fork_comes_back_although_its_client_wrote_a_last_line_too_late(scene: Scene) -> None:
    fork = go(scene, "goback")["resume"]
    path = scene.folder / f"{fork}.jsonl"
    data = path.read_bytes()
    for way_back in ("redo",), ("forks", "undelete", fork):
        scene.cli.ok(*(("undo-restore",) if way_back == ("redo",) else ("forks", "delete", fork)))
        last_line(path)
        scene.cli.ok(*way_back)
        assert path.read_bytes() == data


def last_line(path: Path) -> None:
    with open(path, "a") as file:
        file.write(json.dumps({"type": "cost-state", "sessionId": path.stem, "totalCostUSD": 0}) + "\n")


def test_forward_keeps_a_fork_that_another_client_has_open(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = go(scene, "goback")["resume"]
    plan = ask(scene, "goforward", session=fork)
    client_is_running(scene.cli.home, fork)
    monkeypatch.setattr(f"{LEAVING}._PATIENCE", 0.05)
    ask(scene, "goforward", f"--digest={plan['digest']}", session=fork)
    assert [path.stem for path in scene.forks()] == [fork]


def test_forward_after_a_new_beginning(scene: Scene) -> None:
    go(scene, "goback", "--typed=3")
    assert ask(scene, "goforward", session="11111111-1111-4111-8111-111111111111")["resume"] == scene.session


def test_forward_elsewhere_leaves_the_conversation_alone(scene: Scene) -> None:
    go(scene, "goback")
    other = "22222222-2222-4222-8222-222222222222"
    assert ask(scene, "goforward", session=other)["resume"] is None
    assert ask(scene, "goforward")["resume"] is None, "it is the one that was left"


def test_nothing_to_undo_is_said(scene: Scene) -> None:
    assert refused(scene, 12, "goforward")


def test_the_timeline_has_turns_with_figures_and_where_we_are(scene: Scene) -> None:
    go(scene, "goback")
    rows = ask(scene, "timeline")["rows"]
    assert [(row["turn"], row["prompt"], row["figures"]) for row in rows] == [
        (1, "turn 1", "+1 −0 in 1 file"), (2, "turn 2", "+1 −0 in 1 file"), (3, "turn 3", "+1 −1 in 1 file")]
    assert [row["here"] for row in rows] == [False, False, True]


def test_a_turn_of_the_timeline_has_a_diff(scene: Scene) -> None:
    row = ask(scene, "timeline")["rows"][1]
    target = (f"--of={row['of']}", f"--uuid={row['uuid']}")
    plan = ask(scene, "turn", *target)
    assert "-made" in plan["diff"] and "-two\n+one" in plan["diff"]
    assert ask(scene, "turn", *target, f"--digest={plan['digest']}")["draft"] == "turn 2"


def test_files_follow_the_clients_own_rewind(scene: Scene) -> None:
    plan = ask(scene, "follow", "--gone=2")
    assert plan["question"] == "Bring the files along? 1 written, 1 deleted (Bash made 2 of them)"
    assert plan["mode"] == "ask"
    ask(scene, "follow", "--gone=2", "--always", f"--digest={plan['digest']}")
    assert (scene.read("a"), scene.read("b"), scene.forks()) == ("one\n", None, [])
    assert ask(scene, "follow", "--gone=2")["changes"] == 0
    assert ask(scene, "follow", "--gone=1")["mode"] == "always"


def test_hostile_names_and_prompts_are_only_text(scene: Scene) -> None:
    (scene.cli.project / "\x1b[31m**bold**\ngoback").write_text("x")
    scene.save("UserPromptSubmit", promptId="p4")
    scene.say("/exit\x1b]0;title\x07 `rm -rf`")
    shown = ask(scene, "goback", "--typed=2")
    text = json.dumps([shown["question"], shown["lines"], shown["files"]], ensure_ascii=False)
    assert "\x1b" not in text and "\\u001b" not in text and "\\\\x1b[31m**bold**" in text
    rows = ask(scene, "timeline")["rows"]
    assert "\x1b" not in rows[-1]["prompt"] and rows[-1]["prompt"].startswith("/exit\\x1b")


def test_a_greeting_says_nothing_when_versions_fit_and_names_what_to_update(scene: Scene) -> None:
    line = ask(scene, "start", "--mod=0.0.1")["line"]
    assert "0.0.1" in line and __version__ in line and "rewind install" in line
    assert "version" not in (ask(scene, "start", f"--mod={__version__}")["line"] or "")


def test_the_band_names_turn_checkpoint_and_files(scene: Scene) -> None:
    text = ask(scene, "band", "--turns=3")["band"]
    assert "turn 3" in text and "1 file changed" in text


def test_an_agent_may_not_call_it(scene: Scene) -> None:
    from rewind.hooks import guard
    from rewind.hooks.handle import BLOCK, handle

    if not hasattr(guard, "_READS"):
        pytest.skip("this guard lists what it refuses; one that lists what it allows refuses this")
    for command in ("rewind __plugin goback --json", "rewind __plugin follow --gone=1 --json"):
        payload = {"session_id": scene.session, "transcript_path": str(scene.path), "tool_name": "Bash",
                   "cwd": str(scene.cli.project), "hook_event_name": "PreToolUse",
                   "tool_input": {"command": command}, "tool_use_id": "t1"}
        environ = {"CLAUDE_PROJECT_DIR": str(scene.cli.project), "CLAUDECODE": "1"}
        assert handle("pre-tool-use", json.dumps(payload).encode(), environ).code == BLOCK


def test_an_unknown_action_is_a_usage_error(scene: Scene) -> None:
    refused(scene, 2, "explode")
