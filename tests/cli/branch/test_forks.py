"""`rewind forks`: names, promotion and deletion, of which only what Rewind made, and nothing for good."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Claude, Scene, client_is_running
from cli.conftest import InProcess
from make_transcripts import place


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.say("one", "two", "three")
    return scene


def fork(scene: Scene, *args: str) -> Path:
    return Path(scene.cli.json("back", *args, "--session", scene.session)["fork"]["path"])


def listed(scene: Scene) -> dict[str, Any]:
    return {f["session_id"]: f for f in scene.cli.json("forks", "list")["forks"]}


def native(scene: Scene) -> Path:
    """A fork that the client made itself."""
    talk = Claude(scene.cli.project, "ffffffff-0000-4000-8000-000000000000")
    talk._count = 800
    talk.user("x", origin={"kind": "human"}, promptId="n1",
              forkedFrom={"sessionId": scene.session, "messageUuid": "m"})
    return place(scene.cli.home, "claude", scene.cli.project, talk.bytes(), talk.session)


def test_no_forks_is_said(scene: Scene) -> None:
    assert scene.cli.json("forks", "list") == {"forks": [], "lanes": [], "trash": []}
    assert "no forks" in scene.cli.ok("forks").out


def test_list_shows_forks_of_rewind_and_of_the_agent(scene: Scene) -> None:
    own, other = fork(scene, "2"), native(scene)
    found = listed(scene)
    assert set(found) == {own.stem, other.stem}
    assert found[own.stem]["madeByRewind"] is True and found[other.stem]["madeByRewind"] is False
    out = scene.cli.ok("forks", "list").out
    assert out.count("\n") == 3 and scene.session[:8] in out.splitlines()[0]


def test_show_says_how_to_go_on(scene: Scene) -> None:
    made = fork(scene, "2")
    found = scene.cli.json("forks", "show", made.stem[:8])
    assert found["resume"].endswith(f"claude --resume {made.stem}")
    assert found["parentSessionId"] == scene.session
    out = scene.cli.ok("forks", "show", made.stem).out
    for text in (made.stem, "after turn 1", "Rewind", "claude --resume", str(made)):
        assert text in out


# names

def titles_in(path: Path) -> list[str]:
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line["customTitle"] for line in lines if line.get("type") == "custom-title"]


def test_rename_reaches_our_lists_and_the_agents_own_picker(scene: Scene) -> None:
    made = fork(scene)
    before, seen = made.read_bytes(), made.stat().st_mtime_ns
    out = scene.cli.ok("forks", "rename", made.stem, "  try\n with   SQLite ").out
    assert out == f'Renamed to "try with SQLite": {made.stem}\n'
    assert listed(scene)[made.stem]["name"] == listed(scene)[made.stem]["title"] == "try with SQLite"
    assert "try with SQLite" in scene.cli.ok("forks").out
    assert made.read_bytes().startswith(before) and made.stat().st_mtime_ns == seen, "nothing was said in it"
    lines = [json.loads(line) for line in made.read_bytes()[len(before):].splitlines()]
    assert lines == [
        {"type": "custom-title", "customTitle": "try with SQLite", "sessionId": made.stem},
        {"type": "agent-name", "agentName": "try with SQLite", "sessionId": made.stem}]


def test_undo_and_redo_of_a_rename_reach_the_picker_as_well(scene: Scene) -> None:
    made = fork(scene)
    scene.cli.ok("forks", "rename", made.stem, "mine")
    operation = scene.cli.json("ops")["operations"][0]["id"]
    scene.cli.ok("undo-restore", operation)
    assert titles_in(made) == ["[Fork] one", "mine", "[Fork] one"]
    assert listed(scene)[made.stem]["name"] is None
    scene.cli.ok("redo")
    assert titles_in(made)[-1] == "mine" == listed(scene)[made.stem]["name"]


def test_undo_of_a_rename_leaves_a_title_that_the_client_gave_since(scene: Scene) -> None:
    made = fork(scene)
    scene.cli.ok("forks", "rename", made.stem, "mine")
    with open(made, "ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"by /rename","sessionId":"x"}\n')
    scene.cli.ok("undo-restore")
    assert titles_in(made)[-1] == "by /rename" and listed(scene)[made.stem]["name"] is None


def test_undo_takes_a_title_from_a_session_that_had_none(scene: Scene) -> None:
    other = native(scene)
    scene.cli.ok("forks", "rename", other.stem, "mine")
    scene.cli.ok("undo-restore")
    assert titles_in(other) == ["mine", ""] and listed(scene)[other.stem]["title"] == "x"


def test_a_renamed_fork_that_nobody_continued_is_still_taken_away_by_undo(scene: Scene) -> None:
    made = fork(scene)
    back = scene.cli.json("ops")["operations"][0]["id"]
    scene.cli.ok("forks", "rename", made.stem, "mine")
    scene.cli.ok("undo-restore", back)
    assert not made.exists()


def test_droid_has_its_title_in_line_1(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.say("one", "two")
    made = fork(scene)
    head, *rest = made.read_bytes().splitlines()
    seen = made.stat().st_mtime_ns
    scene.cli.ok("forks", "rename", made.stem, "Käse")
    now, *then = made.read_bytes().splitlines()
    assert json.loads(now) == {**json.loads(head), "title": "Käse"} and then == rest
    assert made.stat().st_mtime_ns == seen and made.stat().st_mode & 0o777 == 0o600
    scene.cli.ok("undo-restore")
    assert made.read_bytes().splitlines() == [head, *rest]


def test_a_title_in_line_1_is_not_written_under_an_open_client(
        cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(cli, "droid")
    scene.say("one", "two")
    made = fork(scene)
    before = made.read_bytes()
    monkeypatch.setattr("rewind.checkpoint.conversations.rename_fork.is_open", lambda *_: True)
    result = scene.cli.ok("forks", "rename", made.stem, "mine")
    assert "Factory Droid has this session open" in result.err and made.read_bytes() == before
    assert listed(scene)[made.stem]["name"] == "mine"


def test_where_an_agent_keeps_titles_elsewhere_that_is_said(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fork(scene)
    before = made.read_bytes()
    monkeypatch.setattr("rewind.checkpoint.conversations.rename_fork.keeps_titles", lambda profile: False)
    result = scene.cli.ok("forks", "rename", made.stem, "mine")
    assert "Claude Code's list keeps its title" in result.err and made.read_bytes() == before
    assert listed(scene)[made.stem]["name"] == "mine"
    scene.cli.ok("undo-restore")
    assert listed(scene)[made.stem]["name"] is None


def test_what_the_agent_forked_can_have_a_name_too_and_is_still_not_ours(scene: Scene) -> None:
    other = native(scene)
    scene.cli.ok("forks", "rename", other.stem, "x")
    found = listed(scene)[other.stem]
    assert found["name"] == "x" and found["madeByRewind"] is False
    assert found["parentSessionId"] == scene.session
    assert "Rewind did not make" in scene.cli.fails(1, "forks", "delete", other.stem)


def test_a_name_that_is_none_is_refused(scene: Scene) -> None:
    made = fork(scene)
    for name in ("", "  ", "x" * 201):
        scene.cli.fails(1, "forks", "rename", made.stem, name)
    assert listed(scene)[made.stem]["name"] is None


# promotion

def test_promote_marks_it_and_folds_its_parent_away(scene: Scene) -> None:
    made = fork(scene)
    before = scene.agent_files()
    scene.cli.ok("forks", "promote", made.stem)
    found = {s["session_id"]: s for s in scene.cli.json("sessions", "list")["sessions"]}
    assert found[made.stem]["promoted"] is True and found[scene.session]["archived"] is True
    assert found[scene.session]["madeByRewind"] is False and scene.agent_files() == before
    scene.cli.fails(1, "forks", "delete", scene.session)


def test_the_parent_may_be_promoted_again(scene: Scene) -> None:
    made = fork(scene)
    scene.cli.ok("forks", "promote", made.stem)
    scene.cli.ok("forks", "promote", scene.session)
    found = {s["session_id"]: s for s in scene.cli.json("sessions", "list")["sessions"]}
    assert found[scene.session]["archived"] is False and found[scene.session]["promoted"] is True


# deletion

def test_delete_moves_it_to_the_trash_and_undelete_brings_it_back(scene: Scene) -> None:
    one, two = fork(scene), fork(scene, "2")
    data = one.read_bytes()
    result = scene.cli.ok("forks", "delete", one.stem, two.stem)
    assert not one.exists() and not two.exists() and one.stem in result.out and "undelete" in result.err
    assert set(scene.cli.json("forks", "list")["trash"]) == {one.stem, two.stem}
    assert one.stem in scene.cli.ok("forks", "list").err
    trashed = scene.cli.state / "trash"
    assert trashed.stat().st_mode & 0o777 == 0o700
    scene.cli.ok("forks", "undelete", one.stem[:8])
    assert one.read_bytes() == data and scene.cli.json("forks", "list")["trash"] == [two.stem]
    assert listed(scene)[one.stem]["parentSessionId"] == scene.session


def test_droids_settings_go_and_come_with_it(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.path.with_suffix(".settings.json").write_text('{"model": "m"}')
    scene.say("one", "two")
    made = fork(scene)
    scene.cli.ok("forks", "delete", made.stem)
    assert sorted(p.name for p in scene.folder.iterdir()) == sorted(
        [scene.path.name, scene.path.with_suffix(".settings.json").name])
    scene.cli.ok("forks", "undelete", made.stem)
    assert made.exists() and made.with_suffix(".settings.json").exists()


def test_what_rewind_did_not_make_is_not_deleted_nor_anything_named_with_it(scene: Scene) -> None:
    own, other = fork(scene), native(scene)
    before = scene.agent_files()
    for names in ([other.stem], [scene.session], [own.stem, other.stem]):
        scene.cli.fails(1, "forks", "delete", *names, hint="agent itself")
    assert scene.agent_files() == before


def test_an_open_one_is_not_deleted(scene: Scene) -> None:
    one, two = fork(scene), fork(scene, "2")
    client_is_running(scene.cli.home, two.stem)
    before = scene.agent_files()
    scene.cli.fails(13, "forks", "delete", one.stem, two.stem, hint="Close it")
    assert scene.agent_files() == before


def test_a_name_twice_is_deleted_once(scene: Scene) -> None:
    made = fork(scene)
    data = made.read_bytes()
    scene.cli.run("forks", "delete", made.stem, made.stem)
    scene.cli.ok("forks", "undelete", made.stem)
    assert made.read_bytes() == data


def test_undelete_of_what_is_not_in_the_trash_is_told(scene: Scene) -> None:
    made = fork(scene)
    for name in (made.stem, "nobody00", "../../x"):
        assert scene.cli.run("forks", "undelete", name).code in (2, 12), name
    scene.cli.ok("forks", "delete", made.stem)
    shutil.rmtree(scene.cli.state / "trash")
    assert scene.cli.run("forks", "undelete", made.stem).code in (1, 12)
    assert not made.exists()


def test_a_dry_run_changes_nothing(scene: Scene) -> None:
    made = fork(scene)
    before = scene.agent_files(), (scene.cli.state / "branches.json").read_text()
    for action, *extra in (["rename", "x"], ["promote"], ["delete"]):
        found = scene.cli.json("forks", action, made.stem, *extra, "--dry-run")
        assert found == {"action": action, "dryRun": True, "sessions": [made.stem]}
    assert (scene.agent_files(), (scene.cli.state / "branches.json").read_text()) == before


def test_too_few_or_too_many_names_are_a_usage_error(scene: Scene) -> None:
    for args in (["show"], ["rename", "x"], ["promote"], ["delete"], ["undelete"], ["list", "x"],
                 ["show", "a", "b"], ["nonsense"]):
        assert scene.cli.run("forks", *args).code == 2, args


def test_what_is_no_id_is_a_usage_error(scene: Scene) -> None:
    for name in ("../../x", "a\0b", "x" * 5000, "", "."):
        for action in (["show", name], ["rename", name, "x"], ["promote", name], ["delete", name]):
            assert scene.cli.run("forks", *action).code == 2, action


# an index beside the transcripts

def test_an_index_of_sessions_is_kept_true(scene: Scene) -> None:
    index = scene.folder / "sessions-index.json"
    index.write_text(json.dumps({"version": 1, "entries": [{"sessionId": scene.session, "messageCount": 9}]}))

    def entries() -> dict[str, Any]:
        return {e["sessionId"]: e for e in json.loads(index.read_text())["entries"]}

    made = fork(scene, "2")
    entry = entries()[made.stem]
    assert set(entry) >= {"sessionId", "created", "modified", "messageCount", "firstPrompt",
                          "parentSessionId", "rewindFromTurn", "rewindedAt"}
    assert entry["parentSessionId"] == scene.session
    assert (entry["rewindFromTurn"], entry["firstPrompt"]) == (1, "one")
    scene.cli.ok("forks", "delete", made.stem)
    assert set(entries()) == {scene.session}
    scene.cli.ok("forks", "undelete", made.stem)
    assert set(entries()) == {scene.session, made.stem}
    scene.cli.ok("back", "--in-place", "--session", scene.session)
    assert entries()[scene.session]["messageCount"] != 9


def test_a_fork_that_could_not_be_renamed_is_in_the_log_as_done_in_part(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fork(scene, "1")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("rewind.checkpoint.project.known_forks.KnownForks.change", full)
        assert scene.cli.run("forks", "rename", made.stem, "another name").code == 1
    newest = scene.cli.json("ops")["operations"][0]
    assert newest["command"] == "forks rename" and newest["effects"] == [] and not newest["interrupted"]
    assert "done in part" in scene.cli.ok("ops").out
