"""Events in real projects: which checkpoints appear, what is pinned, what is initialised, what is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hook_scene import LONG, Hooks
from rewind.checkpoint.project.known_stores import is_known
from rewind.checkpoint.records.record import RecordFiles
from rewind.controller import Controller
from rewind.errors import RewindError
from rewind.hooks.handle import Outcome, handle
from rewind.hooks.making import checkpoint, work
from rewind.hooks.memory.log import write_log
from rewind.hooks.unprotected import WARNING
from rewind_cli import CHECKOUT, git, tree_state

BIG = "precious\n" * 200_000  # 1.8 MB: an ignored file of this size is not captured


def is_silent(outcome: Outcome) -> bool:
    return (outcome.code, outcome.out, outcome.err) == (0, "", "")


@contextmanager
def held_lock(hooks: Hooks) -> Iterator[None]:
    """Another process has the store's lock, as during a restore."""
    program = textwrap.dedent(f"""\
        import sys
        sys.path.insert(0, {str(CHECKOUT / "src")!r})
        from rewind.lock import Lock
        with Lock({str(hooks.state / "lock")!r}, "restore"):
            print("held", flush=True)
            sys.stdin.read()
        """)
    holder = subprocess.Popen([sys.executable, "-I", "-c", program], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    assert holder.stdin and holder.stdout
    try:
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.stdin.close()
        holder.wait(90)
        holder.stdout.close()


# a turn

def test_a_turn_gives_a_checkpoint_before_and_after_it(hooks: Hooks) -> None:
    hooks.prompt("Add a file")
    (hooks.project / "b.txt").write_text("b\n")
    hooks.stop()
    before, after = hooks.records()[1:]
    assert (before.description, after.description) == ("Before: Add a file", "After: Add a file")
    assert hooks.holds("b.txt", before) is None and hooks.holds("b.txt", after) == b"b\n"
    assert before.kind == "auto" and before.trigger["event"] == "UserPromptSubmit"


def test_the_conversation_is_captured_with_the_code(hooks: Hooks) -> None:
    hooks.talk("first")
    hooks.stop()
    record = hooks.last()
    assert record.data["hasTranscript"] and record.data["transcript"]["agent"] == "claude"
    assert record.data["transcript"]["cursor"]["byte_offset_end"] == hooks.transcript.stat().st_size


def test_a_transcript_elsewhere_is_not_read(hooks: Hooks) -> None:
    stray = hooks.home / "private.jsonl"
    stray.write_text('{"secret": 1}\n')
    hooks.stop(transcript_path=str(stray))
    assert hooks.count() == 2 and not hooks.last().data["hasTranscript"]


def test_a_link_among_the_transcripts_is_not_followed_out(hooks: Hooks) -> None:
    stray = hooks.home / "private.jsonl"
    stray.write_text('{"secret": 1}\n')
    hooks.transcript.symlink_to(stray)
    hooks.stop()
    assert hooks.count() == 2 and not hooks.last().data["hasTranscript"]


@pytest.mark.parametrize("what", ["a fifo", "a directory", "a loop", "a device", "no transcript"])
def test_whatever_stands_in_the_transcripts_place_the_code_is_captured(hooks: Hooks, what: str) -> None:
    if what == "a fifo":
        os.mkfifo(hooks.transcript)
    elif what == "a directory":
        hooks.transcript.mkdir()
    elif what == "a loop":
        hooks.transcript.symlink_to(hooks.transcript.name)
    elif what == "a device":
        hooks.transcript.symlink_to("/dev/zero")
    else:
        hooks.transcript.write_bytes(b"\0\xff" * 5000)
    assert is_silent(hooks.stop())
    assert hooks.count() == 2


def test_an_unchanged_tree_costs_a_record_and_no_content(hooks: Hooks) -> None:
    for _ in range(3):
        hooks.prompt()
        hooks.stop()
    assert hooks.count() == 7
    assert [record.code["newBytes"] for record in hooks.records()[2:]] == [0] * 5


def test_every_event_is_silent(hooks: Hooks) -> None:
    said = [hooks.start(), hooks.prompt(), hooks.edit(), hooks.edit(when="Post"), hooks.shell(),
            hooks.shell(when="Post"), hooks.stop(), hooks.fire("SessionEnd", reason="other")]
    assert all(is_silent(outcome) for outcome in said)
    assert not hooks.log()


def test_an_interrupted_tool_is_caught_up_by_the_next_prompt(hooks: Hooks) -> None:
    """Esc during a tool: no PostToolUse and no Stop, though a file was written."""
    hooks.prompt("go", prompt_id="p1")
    hooks.shell("slow-thing")
    (hooks.project / "half.txt").write_text("half\n")
    hooks.prompt("what happened?", prompt_id="p2")
    assert hooks.holds("half.txt") == b"half\n"


def test_a_persons_own_command_is_caught_up_by_the_stop_that_follows(hooks: Hooks) -> None:
    (hooks.project / "bang.txt").write_text("made by !\n")
    hooks.stop()
    assert hooks.holds("bang.txt") == b"made by !\n"


# twice

@pytest.mark.parametrize("fire", [
    lambda hooks: hooks.prompt("again", prompt_id="p1"),
    lambda hooks: hooks.stop(prompt_id="p1"),
    lambda hooks: hooks.tool("Write", {"file_path": str(hooks.project / "n"), "content": LONG},
                             tool_use_id="t1"),
], ids=["a prompt", "the end of a turn", "an edit"])
def test_an_event_that_is_told_twice_makes_one_checkpoint(hooks: Hooks, fire: Any) -> None:
    for _ in range(3):
        assert is_silent(fire(hooks))
        hooks.clock += 100
    assert hooks.count() == 2


def test_a_start_that_is_told_twice_makes_one_checkpoint(hooks: Hooks) -> None:
    """Droid runs a hook that is registered twice twice, and can import Claude Code's."""
    hooks.start()
    hooks.start()
    assert hooks.count() == 2


def test_the_same_words_twice_are_two_prompts(hooks: Hooks) -> None:
    hooks.prompt("go on", prompt_id="p1")
    hooks.prompt("go on", prompt_id="p2")
    hooks.prompt("go on", prompt_id=None)  # Claude Code 2.1.162 sends none
    hooks.prompt("go on", prompt_id=None)
    assert hooks.count() == 5


def test_a_queued_prompt_has_a_checkpoint_of_its_own(hooks: Hooks) -> None:
    hooks.prompt("first", prompt_id="p1")
    hooks.prompt("typed while it runs", prompt_id="p1")
    assert [r.trigger["promptText"] for r in hooks.records()[1:]] == ["first", "typed while it runs"]


def test_what_is_remembered_of_events_stays_small(hooks: Hooks) -> None:
    seen = [f"old {number}" for number in range(5000)]
    (hooks.state / "hook-state.json").write_text(json.dumps({"format": 1, "seen": seen}))
    hooks.prompt()
    assert (hooks.state / "hook-state.json").stat().st_size < 20_000


def test_the_end_of_a_turn_carries_its_own_sessions_prompt(hooks: Hooks) -> None:
    hooks.prompt("of this session")
    hooks.prompt("of another", session_id="another")
    hooks.stop()
    assert hooks.last().description == "After: of this session"
    hooks.stop(session_id="another")
    assert hooks.last().description == "After: of another"
    hooks.stop(session_id="one that never asked")
    assert hooks.last().description == "Turn ended"


@pytest.mark.slow
def test_the_prompts_of_few_sessions_are_remembered(hooks: Hooks) -> None:
    for number in range(25):
        hooks.prompt(f"prompt {number}", session_id=f"s{number}")
        hooks.prompt("again", session_id="s0")
    kept = json.loads((hooks.state / "hook-state.json").read_text())["prompts"]
    assert list(kept) == [*(f"s{number}" for number in range(6, 25)), "s0"]


def test_a_state_that_knew_one_prompt_for_all_is_read(hooks: Hooks) -> None:
    old = {"format": 1, "lastCheckpoint": hooks.clock, "failures": 4, "prompt": "of whom?", "seen": [],
           "protected": ["a.txt"], "warned": [], "errors": [{"at": "", "action": "Stop", "message": "why"}]}
    (hooks.state / "hook-state.json").write_text(json.dumps(old))
    hooks.edit()
    assert hooks.count() == 1, "held back, by what it says of the last checkpoint"
    hooks.stop()
    assert hooks.last().description == "Turn ended"


# subagents

def test_what_a_subagent_does_belongs_to_its_parent(bare: Hooks) -> None:
    bare.protect("aggressive")
    bare.shell("echo from-child", agent_id="a1", agent_type="general-purpose")
    trigger = bare.last().trigger
    assert trigger["session"] == bare.session and trigger["subagent"] == "a1"


# anti-spam in a real project

def test_edits_in_a_row_make_one_checkpoint(hooks: Hooks) -> None:
    for number in range(5):
        hooks.edit(f"new{number}.txt")
        hooks.clock += 5
    assert hooks.count() == 2
    hooks.clock += 30
    hooks.edit("new9.txt")
    assert hooks.count() == 3


def test_a_manual_checkpoint_does_not_delay_the_next_prompt(hooks: Hooks) -> None:
    hooks.prompt()
    hooks.prompt()
    assert hooks.count() == 3


@pytest.mark.parametrize("content", ["", "[]", "{", "null", '{"format": 2}', "\0", "[" * 100_000,
                                     '{"format":1,"lastCheckpoint":"x","seen":7,"errors":[1],"failures":null}',
                                     '{"format":1,"lastCheckpoint":1e999}', '{"format":1,"failures":true}',
                                     '{"format":1,"prompts":[]}', '{"format":1,"prompts":{"a":1,"":[]}}'])
def test_a_damaged_state_of_the_hooks_begins_anew(hooks: Hooks, content: str) -> None:
    (hooks.state / "hook-state.json").write_text(content)
    assert is_silent(hooks.prompt()) and is_silent(hooks.start()) and is_silent(hooks.edit("n.txt"))
    assert hooks.count() >= 3 and not hooks.log()


# the start of a session

def test_the_first_checkpoint_of_a_project_is_its_initial_one(bare: Hooks) -> None:
    bare.protect()
    record = bare.state / "checkpoints" / bare.records()[0].name
    subprocess.run(["rm", "-r", str(record)], check=True)
    (bare.state / "scan-cache.db").unlink(missing_ok=True)
    bare.start()
    assert [r.kind for r in bare.records()] == ["initial"]


def test_every_startup_has_a_checkpoint(hooks: Hooks) -> None:
    hooks.start()
    hooks.session, hooks.transcript = "another", hooks.transcript.with_name("another.jsonl")
    hooks.start()
    assert [r.description for r in hooks.records()[1:]] == ["Session began"] * 2


@pytest.mark.parametrize("source", ["resume", "clear", "compact"])
def test_a_conversation_that_goes_on_has_one_only_when_it_has_none(hooks: Hooks, source: str) -> None:
    hooks.talk("before Rewind was there")
    hooks.start(source)
    assert hooks.last().description == f"Session ({source})"
    hooks.start(source)
    assert hooks.count() == 2
    hooks.session = "another"
    hooks.transcript = hooks.transcript.with_name("another.jsonl")
    hooks.start(source)
    assert hooks.count() == 3


def test_a_source_that_nobody_knows_yet_counts_as_a_start(hooks: Hooks) -> None:
    hooks.start("teleport")
    assert hooks.count() == 2


# pins: files that an agent edits by name

def ignored(hooks: Hooks, name: str, content: str = BIG) -> Path:
    """A file that no checkpoint would hold by itself."""
    git(hooks.project, "init", "-q", home=hooks.home)
    (hooks.project / ".gitignore").write_text("*.db\n/data/\n")
    path = hooks.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    if path.parent.name == "data":  # a small directory would be captured, ignored or not
        with open(path.with_name("filler"), "wb") as file:
            file.truncate(20 << 20)
    return path


@pytest.mark.parametrize("name", ["local.db", "data/big.csv", "node_modules/left-pad/index.js",
                                  ".venv/lib/site.py"])
def test_the_first_edit_of_an_unprotected_file_is_captured_before_and_from_then_on(hooks: Hooks,
                                                                                   name: str) -> None:
    path = ignored(hooks, name)
    hooks.prompt()
    assert hooks.holds(name) is None
    hooks.edit(name, new="tiny")  # neither a small edit nor a moment ago holds it back
    assert hooks.holds(name) == BIG.encode()
    assert name in (hooks.state / "pins.json").read_text()
    path.write_text("second")
    hooks.stop()
    assert hooks.holds(name) == b"second"


def test_the_second_edit_of_it_is_held_back_as_any_other(hooks: Hooks) -> None:
    ignored(hooks, "local.db")
    hooks.edit("local.db", new="tiny")
    made = hooks.count()
    hooks.edit("local.db", new="tiny")
    assert hooks.count() == made


def test_a_file_made_since_the_last_checkpoint_is_captured_before_its_first_edit(hooks: Hooks) -> None:
    hooks.prompt()
    (hooks.project / "made-by-shell.txt").write_text("one\n")
    hooks.edit("made-by-shell.txt", new="tiny")
    assert hooks.holds("made-by-shell.txt") == b"one\n"


def test_an_edit_of_a_protected_file_is_held_back(hooks: Hooks) -> None:
    hooks.prompt()
    made = hooks.count()
    hooks.edit("a.txt", new="tiny")
    assert hooks.count() == made and not (hooks.state / "pins.json").exists()


def test_a_new_file_needs_no_checkpoint_of_its_own(hooks: Hooks) -> None:
    hooks.prompt()
    made = hooks.count()
    hooks.edit("not-there-yet.txt", new="tiny")
    assert hooks.count() == made


def test_a_file_outside_the_project_is_kept_and_not_pinned(hooks: Hooks) -> None:
    (hooks.project.parent / "outside.txt").write_text("x")
    hooks.prompt()
    made = hooks.count()
    assert is_silent(hooks.edit("../outside.txt", new="tiny"))
    assert hooks.count() == made + 1 and not (hooks.state / "pins.json").exists()


def test_a_directory_that_leads_out_by_a_link_is_outside(hooks: Hooks) -> None:
    outside = hooks.project.parent / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("x")
    (hooks.project / "link").symlink_to(outside)
    hooks.prompt()
    made = hooks.count()
    hooks.edit("link/x.txt", new="tiny")
    assert hooks.count() == made + 1 and hooks.last().data["outside"][0]["path"] == str(outside / "x.txt")
    assert not (hooks.state / "pins.json").exists()


def test_a_directory_that_is_a_link_within_the_project_is_seen_through(hooks: Hooks) -> None:
    ignored(hooks, "data/big.csv")
    (hooks.project / "alias").symlink_to("data")
    hooks.prompt()
    hooks.edit("alias/big.csv", new="tiny")
    assert hooks.holds("data/big.csv") == BIG.encode()


def test_a_project_reached_by_a_link_is_the_same_project(hooks: Hooks) -> None:
    ignored(hooks, "local.db")
    alias = hooks.project.parent / "alias"
    alias.symlink_to(hooks.project)
    hooks.tool("Edit", {"file_path": str(alias / "local.db"), "old_string": "a", "new_string": "b"},
               cwd=str(alias))
    assert hooks.holds("local.db") == BIG.encode()


def test_every_file_of_a_patch_is_captured(hooks: Hooks) -> None:
    ignored(hooks, "one.db")
    ignored(hooks, "two.db")
    patch = "*** Begin Patch\n*** Update File: one.db\n*** Delete File: two.db\n*** End Patch"
    transcript = hooks.home / ".factory" / "sessions" / "-project" / "s.jsonl"
    hooks.fire("PreToolUse", tool_name="ApplyPatch", tool_input={"input": patch}, session_id="s",
               transcript_path=str(transcript))
    assert hooks.holds("one.db") == hooks.holds("two.db") == BIG.encode()


def test_git_and_rewinds_own_state_are_never_pinned(hooks: Hooks) -> None:
    ignored(hooks, "local.db")
    hooks.configure(protect=False)
    for name in (".git/config", ".agent/rewind/store.json"):
        hooks.edit(name, new="tiny")
        assert hooks.holds(name) is None
    assert hooks.holds("a.txt") == b"a\n"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that give up the lock at once, and so do the processes that they leave behind."""
    monkeypatch.setattr(work, "_LATE_WAIT", 0.05)


@pytest.mark.usefixtures("impatient")
def test_an_edit_whose_capture_failed_is_captured_the_next_time(hooks: Hooks) -> None:
    ignored(hooks, "local.db")
    with held_lock(hooks):
        assert is_silent(hooks.edit("local.db", new="tiny"))
    hooks.edit("local.db", new="tiny")
    assert hooks.holds("local.db") == BIG.encode()


def test_a_file_that_was_edited_stays_captured_when_it_becomes_ignored(hooks: Hooks) -> None:
    """Edited by name, it is pinned: what a rule says of it afterwards does not matter."""
    git(hooks.project, "init", "-q", home=hooks.home)
    path = hooks.project / "local.db"
    path.write_text(BIG)
    hooks.prompt()
    hooks.edit("local.db")
    (hooks.project / ".gitignore").write_text("*.db\n")
    path.write_text(BIG + "changed")
    hooks.clock += 100
    hooks.edit("local.db")
    hooks.stop()
    assert hooks.holds("local.db") == (BIG + "changed").encode()


# not initialised

@pytest.mark.parametrize(("wanted", "git_there", "made"), [
    ("git", True, True), ("git", False, False), ("always", True, True), ("always", False, True),
    ("never", True, False), ("never", False, False),
])
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "PreToolUse"])
def test_a_project_is_initialised_where_the_settings_want_it(bare: Hooks, wanted: str, git_there: bool,
                                                             made: bool, name: str) -> None:
    bare.configure(init={"auto": wanted})
    if git_there:
        git(bare.project, "init", "-q", home=bare.home)
    outcome = bare.fire(name, source="startup", prompt="x", tool_name="Write",
                        tool_input={"file_path": "b.txt", "content": LONG})
    assert is_silent(outcome)
    assert bare.state.exists() == made
    if made:
        assert [r.kind for r in bare.records()] == ["initial"]


@pytest.mark.parametrize("name", ["PostToolUse", "Stop", "SessionEnd"])
def test_an_end_initialises_nothing(bare: Hooks, name: str) -> None:
    git(bare.project, "init", "-q", home=bare.home)
    bare.fire(name, prompt="x")
    assert not bare.state.exists()


def test_the_top_of_the_work_tree_is_initialised_not_where_the_agent_stands(bare: Hooks) -> None:
    git(bare.project, "init", "-q", home=bare.home)
    deep = bare.project / "src" / "deep"
    deep.mkdir(parents=True)
    bare.fire("SessionStart", env={"CLAUDE_PROJECT_DIR": str(deep)}, cwd=str(deep), source="startup")
    assert bare.state.exists() and not (deep / ".agent").exists()


def test_the_next_event_finds_what_was_initialised(bare: Hooks) -> None:
    git(bare.project, "init", "-q", home=bare.home)
    bare.start()
    bare.prompt()
    assert bare.count() == 2


def test_a_linked_work_tree_is_a_place_of_its_repositorys_project(bare: Hooks) -> None:
    """`git worktree add`: there `.git` is a file."""
    git(bare.project, "init", "-q", home=bare.home)
    git(bare.project, "add", "a.txt", home=bare.home)
    git(bare.project, "commit", "-qm", "one", home=bare.home)
    tree = bare.project.parent / "tree"
    git(bare.project, "worktree", "add", "-q", str(tree), home=bare.home)
    bare.fire("SessionStart", env={"CLAUDE_PROJECT_DIR": str(tree)}, cwd=str(tree), source="startup")
    controller = Controller(str(tree), home=str(bare.rewind_home))
    assert controller.project.main == str(bare.project) and not (tree / ".agent").exists()
    assert [record.place for record in controller.list_checkpoints()] == ["tree"]
    controller.close()


@pytest.mark.parametrize("wanted", ["git", "always"])
def test_a_repository_cannot_have_the_state_made_elsewhere(bare: Hooks, wanted: str) -> None:
    """`.agent` is a link that a repository brought along."""
    bare.configure(init={"auto": wanted})
    git(bare.project, "init", "-q", home=bare.home)
    elsewhere = bare.home / "private"
    elsewhere.mkdir()
    (bare.project / ".agent").symlink_to(elsewhere)
    for fire in (bare.start, bare.prompt, bare.edit):
        with suppress(RewindError):  # a line in the log, which the entry writes
            assert is_silent(fire())
    assert not list(elsewhere.iterdir())


def places_that_must_stay_free(hooks: Hooks) -> list[Path]:
    alias = hooks.home.parent / "alias-of-home"
    alias.symlink_to(hooks.home)
    return [hooks.home, hooks.home.parent, Path("/"), alias]


@pytest.mark.parametrize("wanted", ["git", "always"])
def test_neither_home_nor_what_holds_it_is_ever_initialised(bare: Hooks, wanted: str) -> None:
    bare.configure(init={"auto": wanted})
    git(bare.home, "init", "-q", home=bare.home)
    git(bare.home.parent, "init", "-q", home=bare.home)
    for place in places_that_must_stay_free(bare):
        assert is_silent(bare.fire("SessionStart", env={"CLAUDE_PROJECT_DIR": str(place)}, cwd=str(place),
                                   source="startup"))
        assert not (place / ".agent").exists(), place


def test_a_directory_below_a_home_that_is_a_repository_makes_no_project_of_home(bare: Hooks) -> None:
    """Dotfiles kept in git: the top of the work tree is HOME."""
    git(bare.home, "init", "-q", home=bare.home)
    below = bare.home / "notes"
    below.mkdir()
    bare.fire("SessionStart", env={"CLAUDE_PROJECT_DIR": str(below)}, cwd=str(below), source="startup")
    assert not (bare.home / ".agent").exists() and not (below / ".agent").exists()


def plant(hooks: Hooks) -> dict[bytes, tuple[Any, ...]]:
    """A repository that brings a state directory of its own."""
    git(hooks.project, "init", "-q", home=hooks.home)
    hooks.state.mkdir(parents=True)
    (hooks.state / "store.json").write_text(json.dumps({"format": 1, "id": "f" * 32, "root": "/"}))
    (hooks.state / "config.json").write_text('{"protect": false, "tier": "minimal"}')
    (hooks.state / "session.json").write_text("{}")
    return tree_state(os.fsencode(hooks.state))


@pytest.mark.parametrize("wanted", ["git", "always"])
def test_a_planted_store_is_neither_used_nor_written_to(bare: Hooks, wanted: str) -> None:
    bare.configure(init={"auto": wanted})
    was = plant(bare)
    said = json.loads(bare.start().out)["systemMessage"]
    assert "not made by you" in said and "rewind init --trust" in said
    for outcome in (bare.prompt(), bare.edit(), bare.shell(), bare.stop(),
                    bare.fire("SessionEnd", reason="other")):
        assert is_silent(outcome)
    assert tree_state(os.fsencode(bare.state)) == was
    assert not is_known(str(bare.rewind_home), "f" * 32)


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_state_directory_that_is_a_link_is_not_used(bare: Hooks, target: str) -> None:
    """The id of a store that this user made, reached from a repository by a link."""
    elsewhere = bare.project.parent / "elsewhere"
    elsewhere.mkdir()
    bare.project, own = elsewhere, bare.project
    bare.protect()
    was = tree_state(os.fsencode(elsewhere / ".agent" / "rewind"))
    git(own, "init", "-q", home=bare.home)
    (own / ".agent").mkdir()
    (own / ".agent" / "rewind").symlink_to(bare.project.parent / target / ".agent" / "rewind")
    bare.project = own
    bare.start()
    bare.prompt()
    assert tree_state(os.fsencode(elsewhere / ".agent" / "rewind")) == was
    assert (own / ".agent" / "rewind").is_symlink()


# the warning

def test_an_edit_that_nothing_protects_is_told_once_per_session(bare: Hooks) -> None:
    bare.configure(tier="balanced")
    first = bare.edit(when="Post")
    assert (first.code, first.out, first.err) == (0, "", WARNING)
    assert WARNING == "[rewind] Warning: No .agent/rewind/ found. Run 'rewind init' first."
    assert is_silent(bare.edit(when="Post"))
    bare.session = "another"
    assert bare.edit(when="Post").err == WARNING


def test_nothing_else_is_told_where_nothing_is_protected(bare: Hooks) -> None:
    bare.configure(tier="aggressive")
    was = tree_state(bare.project)
    for outcome in (bare.start(), bare.prompt(), bare.edit(), bare.shell(), bare.shell(when="Post"),
                    bare.tool("Read", {}, "Post"), bare.stop(), bare.fire("SessionEnd", reason="other")):
        assert is_silent(outcome)
    bare.edit(when="Post")
    assert tree_state(bare.project) == was


def test_a_protected_project_has_no_warning(hooks: Hooks) -> None:
    assert is_silent(hooks.edit(when="Post"))


# failures

def break_store(hooks: Hooks) -> None:
    for path in hooks.state.glob("objects.db*"):
        path.unlink()
    (hooks.state / "objects.db").write_bytes(b"this is no database" * 100)


def mend_store(hooks: Hooks) -> None:
    subprocess.run(["rm", "-rf", str(hooks.state)], check=True)
    hooks.protect()


@pytest.mark.parametrize("failures", [0, 1, 2, 3, 5])
def test_every_failure_is_told_at_the_next_start_and_three_in_a_row_as_such(
        hooks: Hooks, failures: int) -> None:
    hooks.talk("something")
    hooks.stop()
    break_store(hooks)
    for _ in range(failures):
        assert is_silent(hooks.prompt())
    hooks.talk("something", "more")
    outcome = hooks.start("resume")  # has a checkpoint, so it makes none
    if not failures:
        assert is_silent(outcome)
        return
    said = json.loads(outcome.out)
    assert list(said) == ["systemMessage"] and "\n" not in outcome.out
    if failures >= 3:
        assert f"last {failures} checkpoints" in said["systemMessage"]
    else:
        assert f"{failures} prompt" in said["systemMessage"] and "no checkpoint" in said["systemMessage"]
    assert "rewind doctor" in said["systemMessage"]
    assert (outcome.code, outcome.err) == (0, "")


def test_only_a_start_tells_it(hooks: Hooks) -> None:
    break_store(hooks)
    for _ in range(5):
        for outcome in (hooks.prompt(), hooks.edit("n.txt"), hooks.edit(when="Post"), hooks.shell(),
                        hooks.stop(), hooks.fire("SessionEnd", reason="other")):
            assert is_silent(outcome)


def test_a_start_that_fails_itself_counts(hooks: Hooks) -> None:
    break_store(hooks)
    assert is_silent(hooks.start())
    assert "1 checkpoint could not be made" in json.loads(hooks.start().out)["systemMessage"]
    assert "last 3 checkpoints" in json.loads(hooks.start().out)["systemMessage"]


@pytest.mark.usefixtures("impatient")
def test_a_checkpoint_that_succeeds_ends_the_row_but_does_not_hide_what_is_missing(hooks: Hooks) -> None:
    with held_lock(hooks):
        hooks.prompt()
        hooks.prompt()
    hooks.prompt()
    with held_lock(hooks):
        hooks.prompt()
        told = json.loads(hooks.start().out)["systemMessage"]
    assert "last" not in told and "3 prompts here have no checkpoint: the store was busy." in told


def test_each_failure_is_one_line_in_the_log(hooks: Hooks) -> None:
    break_store(hooks)
    hooks.prompt()
    assert len(hooks.log().splitlines()) == 1 and "UserPromptSubmit" in hooks.log()
    hooks.stop()
    assert len(hooks.log().splitlines()) == 2


def test_the_last_errors_are_kept_for_the_doctor(hooks: Hooks) -> None:
    break_store(hooks)
    for _ in range(12):
        hooks.prompt()
    errors = json.loads((hooks.state / "hook-state.json").read_text())["errors"]
    assert len(errors) == 10
    assert set(errors[0]) == {"at", "action", "message"} and errors[0]["action"] == "UserPromptSubmit"


@pytest.mark.usefixtures("impatient")
def test_a_store_that_stays_locked_is_given_up_and_said_in_the_log(hooks: Hooks) -> None:
    with held_lock(hooks):
        assert is_silent(hooks.prompt())
    assert hooks.count() == 1
    assert len(hooks.log().splitlines()) == 1 and "Locked" in hooks.log()


def test_a_store_that_was_mended_is_used_again(hooks: Hooks) -> None:
    break_store(hooks)
    hooks.prompt()
    mend_store(hooks)
    hooks.prompt()
    assert hooks.last().trigger["event"] == "UserPromptSubmit"


@pytest.mark.parametrize("content", ["", "garbage", "{}", "[]", '{"format": 99}', "\0" * 50])
def test_a_record_that_is_damaged_upsets_nothing(hooks: Hooks, content: str) -> None:
    name = hooks.records()[0].name
    (hooks.state / "checkpoints" / name / "metadata.json").write_text(content)
    (hooks.state / "scan-cache.db").unlink(missing_ok=True)
    assert is_silent(hooks.prompt()) and is_silent(hooks.edit("n.txt")) and is_silent(hooks.start("resume"))


@pytest.mark.parametrize("name", ["store.json", "config.json", "pins.json", "operations.jsonl",
                                  "scan-cache.db", "session.json", "hook-state.json", "branches.json"])
@pytest.mark.parametrize("how", ["garbage", "a directory", "a fifo", "a link to nowhere"])
def test_no_file_of_the_state_upsets_an_event(hooks: Hooks, name: str, how: str) -> None:
    path = hooks.state / name
    path.unlink(missing_ok=True)
    if how == "garbage":
        path.write_bytes(b"\xff\0{[" * 100)
    elif how == "a directory":
        path.mkdir()
    elif how == "a fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere/at/all")
    through_the_entry(hooks, hooks.payload("UserPromptSubmit", prompt="x"))
    through_the_entry(hooks, hooks.payload("SessionStart", source="startup"))


def through_the_entry(hooks: Hooks, payload: dict[str, Any]) -> None:
    """What `handle` may raise is the entry's to catch: here it must be an ordinary error."""
    action = "session-start" if payload["hook_event_name"] == "SessionStart" else "user-prompt-submit"
    try:
        assert is_silent(handle(action, json.dumps(payload).encode(), hooks.env()))
    except Exception as error:
        assert str(error)


# time

def test_what_takes_too_long_goes_on_without_the_hook_and_is_recorded_as_late(
        bare: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    git(bare.project, "init", "-q", home=bare.home)
    right = checkpoint.save
    may_go_on = bare.home / "may-go-on"

    def slow(*args: Any, **more: Any) -> Any:
        until = time.monotonic() + 120
        while not may_go_on.exists() and time.monotonic() < until:
            time.sleep(0.02)
        return right(*args, **more)

    monkeypatch.setattr(checkpoint, "save", slow)
    monkeypatch.setattr(work, "PATIENCE", 0.1)
    assert is_silent(bare.start())
    assert bare.count() == 0
    may_go_on.touch()
    for _ in range(2400):
        if bare.count():
            break
        time.sleep(0.05)
    assert bare.last().kind == "initial" and bare.last().trigger["late"] is True


def test_a_first_checkpoint_in_time_is_not_late(bare: Hooks) -> None:
    git(bare.project, "init", "-q", home=bare.home)
    bare.start()
    assert "late" not in bare.last().trigger


# the log

def test_a_message_of_many_lines_is_one_line_in_the_log(home: Path) -> None:
    write_log(str(home), "first\nsecond\r\x00\x1b[31m\ud800 " + "x" * 10_000)
    text = (home / "rewind.log").read_text()
    assert text.count("\n") == 1 and len(text) < 1200


def test_a_log_that_has_grown_makes_room(home: Path) -> None:
    (home / "rewind.log").write_bytes(b"old\n" * 300_000)
    for _ in range(3):
        write_log(str(home), "new")
    assert (home / "rewind.log.1").stat().st_size >= 1_200_000
    assert (home / "rewind.log").stat().st_size < 1000


def test_a_log_is_private_and_never_written_through_a_link(home: Path) -> None:
    (home / "precious").write_text("mine")
    (home / "rewind.log").symlink_to(home / "precious")
    write_log(str(home), "x")
    assert (home / "precious").read_text() == "mine"
    (home / "rewind.log").unlink()
    write_log(str(home), "x")
    assert (home / "rewind.log").stat().st_mode & 0o777 == 0o600


def test_a_project_removed_while_its_checkpoint_is_made_stays_removed(
        hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git worktree remove` as the agent's turn ends: what came back would be in its way."""
    reserve = RecordFiles.reserve

    def removed_before(files: RecordFiles, now: float, after: str) -> str:
        shutil.rmtree(hooks.project)
        hooks.project.mkdir()  # as `rm` leaves it for a moment
        return reserve(files, now, after)

    monkeypatch.setattr(RecordFiles, "reserve", removed_before)
    (hooks.project / "a.txt").write_text("changed")
    assert is_silent(hooks.stop())
    assert os.listdir(hooks.project) == []
    assert f"(in {hooks.project})" in (hooks.rewind_home / "rewind.log").read_text()


# texts of any kind

@pytest.mark.parametrize("text", ["\ud83d half a character", "\0", "\x1b[31mred", "‮ backwards", "",
                                  "x" * 1_000_000, "'; DROP TABLE", "\n\n\n"])
def test_a_prompt_of_any_kind_has_its_checkpoint(hooks: Hooks, text: str) -> None:
    assert is_silent(hooks.prompt(text))
    assert hooks.count() == 2 and not hooks.log()


# the line for the agent

def test_the_context_line_is_off_by_default(hooks: Hooks) -> None:
    assert is_silent(hooks.start())


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_the_context_line_is_one_json_object_at_a_start_only(hooks: Hooks, source: str) -> None:
    hooks.configure(hooks={"sessionStartContext": True})
    said = json.loads(hooks.start(source).out)
    assert list(said) == ["hookSpecificOutput"]
    assert said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "Rewind" in said["hookSpecificOutput"]["additionalContext"]
    for outcome in (hooks.prompt(), hooks.edit(), hooks.stop()):
        assert is_silent(outcome)


# which project

def test_the_agents_project_counts_not_where_it_went(hooks: Hooks) -> None:
    elsewhere = hooks.project.parent / "elsewhere"
    elsewhere.mkdir()
    hooks.prompt(cwd=str(elsewhere))
    assert hooks.count() == 2


def test_without_the_agents_word_it_is_where_the_agent_stands(hooks: Hooks) -> None:
    deep = hooks.project / "src"
    deep.mkdir()
    hooks.fire("UserPromptSubmit", env={"CLAUDE_PROJECT_DIR": ""}, prompt="x", cwd=str(deep))
    assert hooks.count() == 2


def test_global_storage_is_found_too(bare: Hooks) -> None:
    bare.configure(storage={"mode": "global"})
    git(bare.project, "init", "-q", home=bare.home)
    bare.start()
    bare.prompt()
    assert not (bare.project / ".agent").exists() and bare.count() == 2


@pytest.mark.parametrize("cwd", ["", "relative", "/no/such/place", "\0", "/" + "x" * 5000, None, 7])
def test_a_place_that_is_none_upsets_nothing(bare: Hooks, cwd: Any) -> None:
    bare.configure(init={"auto": "always"})
    outcome = bare.fire("SessionStart", env={"CLAUDE_PROJECT_DIR": ""}, source="startup", cwd=cwd)
    assert is_silent(outcome)
