"""The hook as agents start it. Whatever is on standard input, on the disk or in the way, the turn goes on."""

from __future__ import annotations

import json
import os
import shutil
import string
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hook_scene import (
    ACTIONS,
    ENTRY,
    SESSION,
    SHIM,
    Case,
    entry_command,
    recorded,
    run_hook,
    wait_for_late,
)
from hooks.test_handle import held_lock
from make_transcripts import ClaudeTalk
from other_pythons import examples
from rewind.checkpoint.save.watching import off_path
from rewind.controller import Controller
from rewind.hooks import entry
from rewind_cli import CHECKOUT, Result, Rewind, chown_all, clean_env, git, tree_state

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("REWIND_EXAMPLES") or examples(300))
HEAVY = ("sqlite3", "_sqlite3", "hashlib", "_hashlib", "subprocess", "json", "re", "pathlib", "dataclasses",
         "logging", "typing", "enum", "tempfile", "shutil", "random", "socket", "threading", "argparse",
         "rewind.controller", "rewind.store", "rewind.snapshot", "rewind.transcript",
         "rewind.checkpoint.project.state")


def payload(rewind: Rewind, **fields: Any) -> dict[str, Any]:
    transcript = rewind.home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    return {"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(rewind.project),
            "prompt": "x", **fields}


def fire(rewind: Rewind, action: str, data: Any, **env: str) -> Result:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return run_hook(entry_command(action), raw, rewind.home, rewind.project, CLAUDECODE="1",
                    CLAUDE_PROJECT_DIR=str(rewind.project), **env)


def silent(result: Result) -> bool:
    return (result.code, result.out, result.err) == (0, "", "")


def logged(rewind: Rewind) -> list[str]:
    logs = (rewind.state / "rewind.log", rewind.home / ".rewind" / "rewind.log")
    return [line for log in logs if log.exists() for line in log.read_text().splitlines()]


def test_an_event_makes_a_checkpoint(rewind: Rewind) -> None:
    rewind.init()
    assert silent(fire(rewind, "user-prompt-submit", payload(rewind)))
    assert len(rewind.names()) == 2 and not logged(rewind)


def test_the_guard_says_93_and_one_sentence(rewind: Rewind) -> None:
    rewind.init()
    result = fire(rewind, "pre-tool-use", payload(rewind, tool_name="Bash", tool_use_id="t",
                                                  tool_input={"command": "rewind undo"}))
    assert result.code == 93 and result.out == "" and len(result.err.splitlines()) == 1


# garbage

GARBAGE = {
    "nothing": b"", "a newline": b"\n", "spaces": b"   ", "binary": bytes(range(256)) * 50,
    "text": b"hello", "half an object": b'{"session_id": "', "null": b"null", "a number": b"12",
    "a list": b"[1,2]", "a text": b'"x"', "true": b"true", "NaN": b"NaN", "two objects": b"{}{}",
    "an empty object": b"{}", "utf-16": '{"a": 1}'.encode("utf-16"), "bom": b"\xef\xbb\xbf{}",
    "bad utf-8": b'{"prompt": "\xff\xfe"}', "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 200_000,
    "deep and closed": b"[" * 100_000 + b"]" * 100_000, "a huge number": b'{"a": ' + b"9" * 10_000 + b"}",
    "a huge text": b'{"prompt": "' + b"x" * 20_000_000 + b'"}', "nul bytes": b"\0" * 1000,
    "a huge list": b'{"tool_input": [' + b"1," * 1_000_000 + b"1]}", "same key twice": b'{"cwd":1,"cwd":[]}',
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_garbage_on_standard_input_is_a_line_in_the_log_and_nothing_else(rewind: Rewind, data: bytes) -> None:
    rewind.init()
    was = tree_state(rewind.project)
    for action in ("session-start", "pre-tool-use", "stop"):
        assert silent(fire(rewind, action, data)), action
    assert tree_state(rewind.project) == was
    result = run_hook([SHIM, "user-prompt-submit"], data, rewind.home, rewind.project,
                      REWIND_PYTHON=sys.executable)
    assert silent(result) and logged(rewind)
    assert all(len(line) < 1200 for line in logged(rewind))


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf%s", b"\xef\xbb\xbf \n%s\r\n"])
def test_a_byte_order_mark_costs_nothing(rewind: Rewind, raw: bytes) -> None:
    rewind.init()
    assert silent(fire(rewind, "user-prompt-submit", raw % json.dumps(payload(rewind)).encode()))
    assert len(rewind.names()) == 2 and not logged(rewind)


@pytest.mark.parametrize("field", ["prompt", "prompt_id", "session_id", "transcript_path", "source", "cwd"])
@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\xbd"])
def test_a_byte_that_is_not_utf_8_costs_nothing(rewind: Rewind, field: str, bad: bytes) -> None:
    rewind.init()
    told = json.dumps({**payload(rewind, prompt_id="p"), field: "caf@"}).encode().replace(b"@", bad)
    assert silent(fire(rewind, "user-prompt-submit", told))
    assert len(rewind.names()) == 2 and not logged(rewind)
    assert rewind.json("list")["checkpoints"][0]["trigger"]["event"] == "UserPromptSubmit"
    assert rewind.run("list").code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
def test_an_edited_file_whose_name_is_not_utf_8_is_the_right_one(rewind: Rewind) -> None:
    (rewind.project / ".gitignore").write_text("*.log\n")
    names = [b"caf\xe9.log", "caf\ufffd.log".encode()]
    for name in names:
        (rewind.project / os.fsdecode(name)).write_bytes(b"x" * 2_000_000)
    rewind.init()
    path = os.fsencode(rewind.project) + b"/caf@.log"
    told = json.dumps(payload(rewind, tool_name="Write", tool_use_id="t", tool_input={
        "file_path": path.decode(), "content": "y" * 99})).encode().replace(b"@", b"\xe9")
    assert silent(fire(rewind, "pre-tool-use", told)) and not logged(rewind)
    pins = json.loads((rewind.state / "pins.json").read_text())["pins"]
    assert [os.fsencode(pin) for pin in pins] == names[:1]


def test_more_than_anybody_would_send_is_refused_without_taking_the_memory(rewind: Rewind) -> None:
    rewind.init()
    data = b'{"prompt": "' + b"x" * (70 << 20) + b'"}'
    assert silent(fire(rewind, "user-prompt-submit", data))
    assert len(logged(rewind)) == 1


WRONG: dict[str, Any] = {"null": None, "a number": 7, "a huge number": 10**400, "a list": [[]],
                         "an object": {"a": {"b": []}}, "true": True, "nothing": "",
                         "a long text": "y" * 100_000,
                         "a nul": "a\0b", "half a character": "\ud83d", "a path out": "../../../etc/passwd"}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_value_in_every_field_upsets_nothing(rewind: Rewind, wrong: Any) -> None:
    rewind.init()
    whole = payload(rewind, tool_name="Edit", tool_use_id="t", prompt_id="p", source="startup", agent_id="a",
                    tool_input={"file_path": "a", "content": "x" * 99, "command": "ls"})
    for field in whole:
        assert silent(fire(rewind, "pre-tool-use", {**whole, field: wrong})), field
    everything = dict.fromkeys(whole, wrong)
    for action in ("session-start", "user-prompt-submit", "post-tool-use", "stop", "session-end"):
        result = fire(rewind, action, everything)
        assert (result.code, result.out) == (0, "") and "Traceback" not in result.err


@pytest.mark.parametrize("action", ["", "no-such-action", "Stop", "--version", "é", "x" * 10_000])
def test_an_unknown_action_exits_with_0(rewind: Rewind, action: str) -> None:
    rewind.init()
    assert silent(fire(rewind, action, payload(rewind)))
    assert len(rewind.names()) == 1


def test_a_closed_standard_input_exits_with_0(rewind: Rewind) -> None:
    rewind.init()
    script = 'exec "$0" "$@" <&-'
    done = subprocess.run(["/bin/sh", "-c", script, *map(str, entry_command("stop"))], cwd=rewind.project,
                          env=clean_env(rewind.home), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_project_that_is_gone_exits_with_0(rewind: Rewind, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD"; exec "$0" "$@"'
    done = subprocess.run(["/bin/sh", "-c", script, *map(str, entry_command("user-prompt-submit"))], cwd=gone,
                          env={**clean_env(rewind.home), "CLAUDECODE": "1"}, capture_output=True, timeout=60,
                          input=json.dumps({"prompt": "x", "tool_input": {"file_path": "a"}}).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# the disk

def everything_happens(rewind: Rewind, **env: str) -> list[Result]:
    tool = {"tool_name": "Write", "tool_input": {"file_path": str(rewind.project / "a"), "content": "x" * 99}}
    events = (("session-start", {"source": "startup"}), ("user-prompt-submit", {"prompt_id": "p"}),
              ("pre-tool-use", {**tool, "tool_use_id": "t"}), ("post-tool-use", {**tool, "tool_use_id": "t"}),
              ("stop", {"prompt_id": "p"}), ("session-end", {"reason": "other"}))
    return [fire(rewind, action, payload(rewind, **fields), **env) for action, fields in events]


@pytest.mark.parametrize("name", ["objects.db", "scan-cache.db", "store.json", "checkpoints", "lock"])
@pytest.mark.parametrize("how", ["missing", "garbage", "a directory"])
def test_a_corrupt_store_costs_a_checkpoint_and_nothing_else(rewind: Rewind, name: str, how: str) -> None:
    (rewind.project / "a").write_text("a")
    rewind.init()
    for path in rewind.state.glob(f"{name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if how != "missing":
        target = rewind.state / name
        target.write_bytes(b"garbage \0\xff" * 500) if how == "garbage" else target.mkdir()
    start, *others = everything_happens(rewind)
    assert start.code == 0 and all((r.code, r.out, r.err) == (0, "", "") for r in others)
    # Without its name tag nobody knows whose store it is, and the person is told when the session starts.
    told = start.out
    assert not told or (name == "store.json" and "systemMessage" in told)
    made = [p for p in (rewind.state / "checkpoints").glob("*/metadata.json") if b'"Stop"' in p.read_bytes()]
    assert made or told or logged(rewind), "protects nothing, and says nothing"


def test_garbage_in_every_record_costs_nothing_else(rewind: Rewind) -> None:
    rewind.init()
    rewind.save()
    for path in (rewind.state / "checkpoints").rglob("metadata.json"):
        path.write_bytes(b"\xff\xfe not json")
    assert all(silent(result) for result in everything_happens(rewind))


def test_a_locked_store_holds_up_the_checkpoint_and_not_the_agent(rewind: Rewind) -> None:
    rewind.init()
    with held_lock(rewind):  # type: ignore[arg-type]
        assert silent(fire(rewind, "user-prompt-submit", payload(rewind)))
        assert len(rewind.names()) == 1
    wait_for_late(rewind)
    assert len(rewind.names()) == 2
    assert not logged(rewind)


@pytest.mark.parametrize("locked", ["state", "home", "project"])
def test_no_permission_costs_a_checkpoint_and_nothing_else(user: Rewind, locked: str) -> None:
    (user.project / "a").write_text("a")
    chown_all(user.project)
    user.init()
    transcripts = user.home / ".claude" / "projects" / "-p"
    transcripts.mkdir(parents=True)
    chown_all(user.home)
    folder = {"state": user.state, "home": user.home / ".rewind", "project": user.project}[locked]
    entry_file = Path(user.command[-1]).parent.parent / "src" / "rewind" / "hooks" / "start.py"
    folder.chmod(0o000)
    try:
        for action in ("session-start", "user-prompt-submit", "stop"):
            done = subprocess.run([*user.command[:-1], str(entry_file), action], cwd="/", timeout=60,
                                  env={**user.env, "CLAUDECODE": "1"}, capture_output=True,
                                  input=json.dumps(payload(user)).encode())
            assert (done.returncode, done.stderr) == (0, b"")
            if done.stdout:  # the index of all stores lies in the home, as does the state: the person is told
                assert locked in ("home", "state") and action == "session-start"
                assert b"Permission denied" in done.stdout
    finally:
        folder.chmod(0o700)


def test_a_state_that_cannot_be_written_is_logged_in_the_home_and_told_at_the_start(user: Rewind) -> None:
    (user.project / "a").write_text("a")
    chown_all(user.project)
    user.init()
    entry_file = Path(user.command[-1]).parent.parent / "src" / "rewind" / "hooks" / "start.py"
    folders = [user.state, *(path for path in user.state.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    outs = []
    try:
        for action in ("user-prompt-submit", "stop", "session-start"):
            done = subprocess.run([*user.command[:-1], str(entry_file), action], cwd=user.project, timeout=60,
                                  env={**user.env, "CLAUDECODE": "1"}, capture_output=True,
                                  input=json.dumps(payload(user)).encode())
            assert (done.returncode, done.stderr) == (0, b"")
            outs.append(done.stdout)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    log = (user.home / ".rewind" / "rewind.log").read_text()
    assert len(log.splitlines()) == 3 and log.count(str(user.project)) >= 3 and "Permission denied" in log
    assert outs[:2] == [b"", b""] and len(outs[2].splitlines()) == 1
    said = json.loads(outs[2])
    assert list(said) == ["systemMessage"] and "Permission denied" in said["systemMessage"]
    assert "cannot write its state" in said["systemMessage"] and "rewind doctor" in said["systemMessage"]


def test_a_file_that_may_not_be_read_is_left_out(user: Rewind) -> None:
    (user.project / "secret").write_text("x")
    (user.project / "a").write_text("a")
    chown_all(user.project)
    user.init()
    (user.project / "secret").chmod(0)
    entry_file = Path(user.command[-1]).parent.parent / "src" / "rewind" / "hooks" / "start.py"
    done = subprocess.run([*user.command[:-1], str(entry_file), "stop"], cwd=user.project, timeout=60,
                          env={**user.env, "CLAUDECODE": "1"}, input=json.dumps(payload(user)).encode(),
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(user.names()) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    at = tmp_path / "small"
    at.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(at)], capture_output=True)
    if mounted.returncode:
        pytest.skip("NOT TESTED: no small file system can be mounted here, so no disk can be filled")
    yield at
    # Lazily, because a process that a hook left may still be at work there.
    subprocess.run(["umount", "--lazy", str(at)], check=True)


@pytest.mark.parametrize("which", ["project", "home", "both"])
def test_a_full_disk_costs_a_checkpoint_and_nothing_else(small_disk: Path, tmp_path: Path,
                                                         which: str) -> None:
    project = (small_disk if which != "home" else tmp_path) / "project"
    home = (small_disk if which != "project" else tmp_path) / "home"
    project.mkdir()
    home.mkdir()
    rewind = Rewind(project, home)
    (project / "a").write_text("a")
    rewind.init("project")
    (project / "new.bin").write_bytes(os.urandom(300_000))
    with open(small_disk / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    results = everything_happens(rewind)
    assert all((r.code, r.err) == (0, "") and "Traceback" not in r.out for r in results)
    start, *others = results
    assert all(not r.out for r in others)
    if which == "project":
        assert "No space left" in json.loads(start.out)["systemMessage"]
        assert "No space left" in (home / ".rewind" / "rewind.log").read_text()
    (small_disk / "filler").unlink()
    assert rewind.json("validate", "--deep")["ok"] is True
    assert silent(fire(rewind, "stop", payload(rewind)))
    assert rewind.json("list")["checkpoints"][0]["trigger"]["event"] == "Stop"


# what is imported

PROBE = textwrap.dedent("""\
    import os, sys
    sys.path.insert(0, sys.argv[1])
    from rewind.hooks import entry
    end = os._exit
    def tell(code):
        fd = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, ("\\n".join(sys.modules) + "\\n").encode())
        end(code)
    os._exit = tell
    tell(entry.run(sys.argv[2:3]))
    """)


def modules_after(rewind: Rewind, action: str, **fields: Any) -> set[str]:
    """All that a hook and the process that saves for it have loaded in the end."""
    told = rewind.home / "modules"
    told.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", PROBE, str(CHECKOUT / "src"), action, str(told)],
                          input=json.dumps(payload(rewind, **fields)).encode(), cwd=rewind.project,
                          env={**clean_env(rewind.home), "CLAUDECODE": "1"}, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return set(told.read_text().splitlines())


def own_path(rewind: Rewind) -> dict[str, Any]:
    return {"file_path": str(rewind.project / "not-there-yet.txt"), "old_string": "a", "new_string": "b"}


@pytest.mark.parametrize(("action", "fields"), [
    ("pre-tool-use", {"tool_name": "Edit"}),
    ("pre-tool-use", {"tool_name": "Read"}),
    ("post-tool-use", {"tool_name": "Edit"}),
    ("post-tool-use", {"tool_name": "Bash"}),
    ("user-prompt-submit", {"prompt": "<task-notification>"}),
], ids=["a small edit", "a tool that only looks", "after an edit", "after a command", "a machine's prompt"])
def test_nothing_heavy_is_imported_for_a_no(rewind: Rewind, action: str, fields: dict[str, Any]) -> None:
    rewind.init()
    modules = modules_after(rewind, action, tool_use_id="t", tool_input=own_path(rewind), **fields)
    assert not modules & set(HEAVY)
    assert not {name for name in modules if name.startswith(("rewind.store", "rewind.snapshot"))}
    assert len(rewind.names()) == 1


def test_nothing_heavy_is_imported_where_nothing_is_protected(rewind: Rewind) -> None:
    modules = modules_after(rewind, "stop")
    assert not modules & set(HEAVY)


def test_a_checkpoint_needs_the_standard_library_only(rewind: Rewind) -> None:
    """`-I -S`: there is nothing else to be found, and what is found is Python's or Rewind's."""
    if not hasattr(sys, "stdlib_module_names"):
        pytest.skip("this Python does not list its modules")
    rewind.init()
    modules = modules_after(rewind, "user-prompt-submit")
    assert len(rewind.names()) == 2
    tops = {name.partition(".")[0] for name in modules}
    assert tops - set(sys.stdlib_module_names) <= {"rewind", "__main__"}


def test_a_checkpoint_of_an_installed_hook_loads_no_parser(rewind: Rewind) -> None:
    """With the file that the installer writes: `json` and what it brings along cost 8 ms."""
    rewind.init()
    (rewind.home / ".rewind" / "config.json").write_text('{\n  "tier": "balanced"\n}\n')
    modules = modules_after(rewind, "user-prompt-submit")
    assert len(rewind.names()) == 2
    assert not modules & {"json", "re", "enum", "functools", "hashlib", "typing", "dataclasses", "subprocess"}


@pytest.mark.parametrize("config", [
    {"scan": {"monitor": "watchman"}}, {"storage": {"format": "archive"}}, {},
], ids=["with Watchman, as in a large project", "archives", "an agent of the user's own"])
def test_a_rarer_checkpoint_does_without_what_is_there_for_types(rewind: Rewind,
                                                                 config: dict[str, Any]) -> None:
    """`typing` and what it brings along cost 5 ms."""
    rewind.init()
    (rewind.home / ".rewind" / "config.json").write_text(json.dumps({"tier": "balanced", **config}))
    if "scan" in config:  # it was wrong once, so none is started
        with closing(Controller(str(rewind.project), home=str(rewind.home / ".rewind"))) as controller:
            Path(off_path(controller.state)).touch()
    if not config:
        agents = rewind.home / ".rewind" / "agents"
        agents.mkdir()
        claude = json.loads((CHECKOUT / "src/rewind/agents/profiles/claude.json").read_text())
        (agents / "mine.json").write_text(json.dumps({**claude, "name": "mine", "title": "Mine"}))
    modules = modules_after(rewind, "user-prompt-submit")
    assert len(rewind.names()) == 2 and not modules & {"typing", "dataclasses"}


CHECKPOINT = """\
    agents agents.profile agents.registry checkpoint checkpoint.operation_log checkpoint.operation_log.lineage
    checkpoint.operation_log.operations checkpoint.project checkpoint.project.identity
    checkpoint.project.known_stores checkpoint.project.locked checkpoint.project.state
    checkpoint.project.vanished
    checkpoint.records checkpoint.records.record checkpoint.records.seal checkpoint.records.timeline
    checkpoint.save checkpoint.save.capture checkpoint.save.create
    checkpoint.save.save
    checkpoint.upkeep checkpoint.upkeep.due config config.ignore_list config.load config.settings
    config.strictjson errors fast fast.blake2 fast.quickjson fast.sha256 fast.sqlite files hooks
    hooks.decide hooks.entry hooks.event hooks.handle hooks.making hooks.making.checkpoint
    hooks.making.in_time hooks.making.queue hooks.making.work hooks.memory hooks.memory.hook_state
    hooks.memory.hook_files_lock hooks.memory.log hooks.memory.session_file hooks.transcript_path index
    jsonfile lock paths processes project_marker snapshot
    snapshot.git snapshot.git.head snapshot.rules snapshot.rules.gitconfig snapshot.rules.gitfiles
    snapshot.rules.reason_codes snapshot.rules.rules snapshot.scan snapshot.scan.build snapshot.scan.cache
    snapshot.scan.folders snapshot.scan.moment snapshot.scan.read snapshot.scan.scan
    snapshot.scan.why_skipped snapshot.scan.sqlite_files snapshot.scan.walk snapshot.trees snapshot.trees.tree
    store store.blobs store.derived store.objects work_tree
"""
RULES = "snapshot.rules.ignore snapshot.rules.wildmatch"  # for a directory in which something changed
CONVERSATION = """\
    checkpoint.conversations checkpoint.conversations.links checkpoint.conversations.recorded_sessions
    checkpoint.conversations.stored checkpoint.conversations.which_session transcript transcript.find
    transcript.layout transcript.names transcript.place
    transcript.place.cursor transcript.read transcript.read.conversation transcript.read.lines
"""


@pytest.mark.parametrize("with_transcript", [False, True])
def test_a_checkpoint_loads_these_modules_and_no_others(rewind: Rewind, with_transcript: bool) -> None:
    """81 of them, 2 for a directory that changed, and 13 for a conversation, folders included. Each costs
    every checkpoint a tenth of a millisecond or more."""
    rewind.init()
    (rewind.home / ".rewind" / "config.json").write_text('{\n  "tier": "balanced"\n}\n')
    fields: dict[str, Any] = {"transcript_path": ""}
    if with_transcript:
        path = Path(payload(rewind)["transcript_path"])
        path.parent.mkdir(parents=True)
        talk = ClaudeTalk(SESSION)
        talk.turn("Go")
        path.write_bytes(talk.bytes())
        fields = {}
    modules_after(rewind, "user-prompt-submit", prompt_id="p0", **fields)
    (rewind.project / "a.txt").write_text("changed\n")
    loaded = modules_after(rewind, "user-prompt-submit", prompt_id="p1", **fields)
    ours = {name.partition(".")[2] for name in loaded if name.startswith("rewind.")}
    assert len(rewind.names()) == 3
    wanted = set(f"{CHECKPOINT} {RULES} {CONVERSATION if with_transcript else ''}".split())
    assert (ours - wanted, wanted - ours) == (set(), set())


# 10,000 payloads: valid events with anything done to them

CASES = [case for case in recorded() if case.event in ACTIONS]
NAMES = st.sampled_from(["session_id", "transcript_path", "cwd", "prompt", "prompt_id", "message_id",
                         "source", "tool_name", "tool_input", "tool_use_id", "agent_id", "CLAUDE_ENV_FILE",
                         "reason",
                         "sessionId", "transcriptPath", "hook_event_name"])
TEXTS = st.one_of(
    st.text(max_size=20), st.text(alphabet=string.printable, max_size=20),
    st.sampled_from(["", "/", "..", ".", "~", "\0", "\ud83d", "startup", "resume", "Edit", "Write", "Bash",
                     "Create", "ApplyPatch", "Execute", "<task-notification>", "rm -rf .", "rewind undo",
                     "x" * 5000,
                     "@HOME", "@PROJECT", "@PROJECT/a.txt", "@HOME/.claude/projects/x.jsonl", "@HOME/.bashrc",
                     "@PROJECT/../outside", "@PROJECT/.agent/rewind/store.json", "@HOME/.claude/env.sh",
                     "*** Begin Patch\n*** Update File: a.txt\n*** Delete File: ../outside\n",
                     "/etc/passwd"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5)
INPUTS = st.dictionaries(st.sampled_from(["file_path", "path", "notebook_path", "content", "old_string",
                                          "new_string", "command", "edits", "input"]), VALUES, max_size=4)
CHANGES = st.lists(st.one_of(st.tuples(st.just("set"), NAMES, VALUES),
                             st.tuples(st.just("drop"), NAMES, st.none()),
                             st.tuples(st.just("set"), st.just("tool_input"), INPUTS)), max_size=4)
BYTES = st.one_of(st.none(), st.none(), st.none(), st.tuples(st.integers(0, 500), st.binary(max_size=5)))


class World:
    """A protected project and a home, made once; between payloads only the hook writes to it."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        self.project = self.home / "code" / "project"
        self.project.mkdir(parents=True)
        (self.home / ".claude" / "projects").mkdir(parents=True)
        (self.home / ".bashrc").write_text("# mine\n")
        (self.home / "code" / "outside").write_text("outside\n")
        (self.project / "a.txt").write_text("a\n")
        (self.project / "big.db").write_bytes(b"b" * 2_000_000)
        (self.project / ".gitignore").write_text("*.db\n")
        git(self.project, "init", "-q", home=self.home)
        Rewind(self.project, self.home).init()
        self.was = self.picture()

    def picture(self) -> dict[bytes, tuple[Any, ...]]:
        """Everything but the project's state and Rewind's home."""
        found = tree_state(os.fsencode(self.home))
        return {path: what for path, what in found.items() if not path.startswith(b".rewind")
                and b"/.agent/rewind" not in path and path != b".claude/env.sh"}

    def text(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("@HOME", str(self.home)).replace("@PROJECT", str(self.project))
        if isinstance(value, dict):
            return {self.text(k): self.text(v) for k, v in value.items()}
        return [self.text(v) for v in value] if isinstance(value, list) else value


@pytest.fixture
def world(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    top = tmp_path / "world"
    made = World(top)
    for key, value in clean_env(made.home).items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(made.project))
    monkeypatch.chdir(made.project)
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr("rewind.hooks.making.work._LATE_WAIT", 0.1)
    return made


def changed(case: Case, changes: list[tuple[str, str, Any]], world: World) -> bytes:
    data = case.payload(world.home, world.project)
    for how, name, value in changes:
        if how == "drop":
            data.pop(name, None)
        else:
            data[name] = world.text(value)
    return json.dumps(data).encode("utf-8", "surrogatepass")


def run_here(action: str, raw: bytes) -> tuple[int, bytes, bytes]:
    """`entry.run` in this process, with files in place of the three streams."""
    kept = [os.dup(fd) for fd in (0, 1, 2)]
    with tempfile.TemporaryFile() as given_, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given_.write(raw)
        given_.seek(0)
        try:
            for fd, file in enumerate((given_, out, err)):
                os.dup2(file.fileno(), fd)
            code = entry.run([action])
        finally:
            for fd, was in enumerate(kept):
                os.dup2(was, fd)
                os.close(was)
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_no_payload_raises_prints_or_writes_where_it_should_not(world: World) -> None:
    count = 0

    @settings(max_examples=EXAMPLES, deadline=None, database=None, print_blob=False,
              suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(CASES), st.sampled_from(sorted(ACTIONS.values())), st.booleans(), CHANGES, BYTES)
    def check(case: Case, action: str, own: bool, changes: list[tuple[str, str, Any]], noise: Any) -> None:
        nonlocal count
        raw = changed(case, changes, world)
        if noise:
            raw = raw[:noise[0]] + noise[1] + raw[noise[0]:]
        code, out, err = run_here(ACTIONS[case.event] if own else action, raw)
        assert code in (0, 93) and out == b""
        assert (code == 93) == bool(err) or b"[rewind] Warning" in err
        assert b"Traceback" not in err and err.count(b"\n") <= 1
        count += 1
        if count % 100 == 0:
            tidy(world)

    check()
    tidy(world)
    assert Rewind(world.project, world.home).json("validate", "--deep")["ok"] is True
    assert ENTRY.exists()


def tidy(world: World) -> None:
    """Nothing but Rewind's own was written; and its own does not grow until a run takes minutes."""
    assert world.picture() == world.was
    assert not list(world.home.parent.glob("outside*")) and sorted(os.listdir(world.home.parent)) == ["home"]
    log = world.project / ".agent" / "rewind" / "rewind.log"
    log.unlink(missing_ok=True)
    Rewind(world.project, world.home).ok("gc", "--keep", "1")
