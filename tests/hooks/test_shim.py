"""The shell script that agents call: whatever is missing or broken, it exits with 0 and says nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any, Optional

import pytest

from hook_scene import SESSION, SHIM, run_hook, wait_for_late, wait_for_made
from hooks.test_handle import held_lock
from hooks.test_in_time import until
from make_transcripts import ClaudeTalk
from rewind.checkpoint.project.missed import KILLED
from rewind.hooks.memory.hook_state import HookState
from rewind.install.machine.scripts import NAME, shim_text
from rewind.processes import is_zombie, process_start
from rewind_cli import Result, Rewind, clean_env

pytestmark = pytest.mark.slow

SHELLS = [shell for shell in ("/bin/sh", "/bin/dash", "/bin/bash", "/bin/busybox", "/bin/zsh", "/bin/ksh")
          if os.path.exists(shell)]
ACTIONS = ("session-start", "user-prompt-submit", "pre-tool-use", "post-tool-use", "stop", "session-end")


class Installed:
    """A copy of the library with a shim beside it, as `rewind install` leaves them, but for the file in which
    the whole package is once more."""

    def __init__(self, program: Path, top: Path, home: Path, project: Path) -> None:
        self.home = home
        self.project = project
        self.system = top / "system of it's user"  # a name that needs quoting
        self.library = self.system / "lib-1"
        shutil.copytree(program.parents[1] / "src" / "rewind", self.library / "rewind")
        self.log = home / ".rewind" / "rewind.log"
        self.log.parent.mkdir()
        self.shim = self.system / NAME
        self.write(os.path.realpath(sys.executable))

    @property
    def package(self) -> Path:
        return self.library / "rewind"

    def write(self, python: str) -> None:
        entry = str(self.package / "hooks" / "start.py")
        self.shim.write_text(shim_text(python, entry, str(self.log)))
        self.shim.chmod(0o755)

    def run(self, action: str = "user-prompt-submit", data: Optional[bytes] = None, shell: str = "",
            **env: str) -> Result:
        before = [shell, "sh"] if shell.endswith("busybox") else [shell] if shell else []
        return run_hook([*before, self.shim, action], self.payload() if data is None else data, self.home,
                        self.project,
                        CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(self.project), **env)

    def payload(self, **fields: Any) -> bytes:
        transcript = self.home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
        return json.dumps({"session_id": SESSION, "transcript_path": str(transcript), "prompt": "x",
                           "cwd": str(self.project), **fields}).encode()

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def installed(program_copy: Path, tmp_path: Path, home: Path, project: Path) -> Installed:
    return Installed(program_copy, tmp_path, home, project)


def silent(result: Result) -> bool:
    return (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("shell", ["", *SHELLS])
def test_it_makes_a_checkpoint(installed: Installed, rewind: Rewind, shell: str) -> None:
    rewind.init()
    assert silent(installed.run(shell=shell))
    assert len(rewind.names()) == 2
    assert not installed.logged()


def test_the_checkouts_own_shim_makes_a_checkpoint(rewind: Rewind, home: Path, project: Path,
                                                   installed: Installed) -> None:
    rewind.init()
    result = run_hook([SHIM, "user-prompt-submit"], installed.payload(), home, project, CLAUDECODE="1",
                      REWIND_PYTHON=sys.executable)
    assert silent(result) and len(rewind.names()) == 2


@pytest.mark.parametrize("shell", SHELLS)
def test_a_block_and_its_sentence_reach_the_agent(installed: Installed, rewind: Rewind, shell: str) -> None:
    rewind.init()
    data = installed.payload(tool_name="Bash", tool_input={"command": "rewind restore last"}, tool_use_id="t")
    result = installed.run("pre-tool-use", data, shell)
    assert result.code == 2 and result.out == ""
    assert len(result.err.strip().splitlines()) == 1


def test_the_warning_reaches_the_agent(installed: Installed) -> None:
    data = installed.payload(tool_name="Edit", tool_input={"file_path": "a"}, tool_use_id="t")
    result = installed.run("post-tool-use", data)
    assert (result.code, result.out) == (0, "")
    assert result.err == "[rewind] Warning: No .agent/rewind/ found. Run 'rewind init' first.\n"


def test_an_unknown_action_does_nothing(installed: Installed, rewind: Rewind) -> None:
    rewind.init()
    for action in ("", "stopp", "--help", "-c", "pre-tool-use; exit 2", "$(exit 2)", "../x"):
        assert silent(installed.run(action)), action
        assert len(rewind.names()) == 1, action


def test_no_action_at_all_does_nothing(installed: Installed) -> None:
    assert silent(run_hook([installed.shim], b"", installed.home, installed.project))


# a checkpoint that takes long

@pytest.mark.parametrize("shell", SHELLS)
def test_the_agent_goes_on_while_the_checkpoint_is_made(installed: Installed, rewind: Rewind,
                                                        shell: str) -> None:
    """`run` reads to the end of the client's pipes, so nobody has them open any more when it returns."""
    rewind.init()
    with held_lock(rewind):  # type: ignore[arg-type]
        assert silent(installed.run(shell=shell))
        (late,) = rewind.json("list")["late"]
        assert late["description"] == "Before: x" and len(rewind.names()) == 1
    wait_for_late(rewind)
    assert len(rewind.names()) == 2
    assert not installed.logged()


def stop_before_writing(installed: Installed, go_on: Path) -> None:
    """Everything has been read by then."""
    create = installed.package / "checkpoint" / "save" / "create.py"
    create.write_text(create.read_text() + f"""
_written = write_record
def write_record(*args, **more):
    os.close(os.open({str(go_on) + " is awaited"!r}, os.O_CREAT))
    while not os.path.exists({str(go_on)!r}):
        time.sleep(0.005)
    return _written(*args, **more)
""")


def start(installed: Installed, action: str = "user-prompt-submit", **fields: Any) -> subprocess.Popen[bytes]:
    """As a client starts it, which reads its pipes to their end."""
    client = subprocess.Popen([installed.shim, action], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=installed.project,
                              env={**clean_env(installed.home), "CLAUDECODE": "1"})
    assert client.stdin
    client.stdin.write(installed.payload(**fields))
    client.stdin.close()
    client.stdin = None
    return client


def assert_it_waits(client: subprocess.Popen[bytes], go_on: Path) -> None:
    """All has been read, and still the agent waits until it is written."""
    assert until(go_on.with_name("go on is awaited").exists)
    with pytest.raises(subprocess.TimeoutExpired):
        client.wait(0.3)
    go_on.touch()
    assert client.communicate(timeout=60) == (b"", b"") and client.returncode == 0


def is_being_made(rewind: Rewind) -> bool:
    return bool(HookState(str(rewind.state)).begun)


def test_the_agent_goes_on_when_all_is_read_and_what_it_does_then_is_not_in_the_checkpoint(
        installed: Installed, rewind: Rewind, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-qb", "one", installed.project], check=True)
    transcript = installed.home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    talk = ClaudeTalk(SESSION)
    talk.turn("first")
    transcript.write_bytes(talk.bytes())
    rewind.init()
    (installed.project / "a.txt").write_text("before\n")
    stop_before_writing(installed, tmp_path / "go on")
    client = start(installed)
    assert client.communicate(timeout=60) == (b"", b"") and client.returncode == 0
    assert is_being_made(rewind) and len(rewind.names()) == 1 and not rewind.json("list")["late"]
    size = transcript.stat().st_size
    (installed.project / "a.txt").write_text("the agent is at work\n")
    (installed.project / ".git" / "HEAD").write_text("ref: refs/heads/two\n")
    transcript.write_bytes(transcript.read_bytes() * 2)
    (tmp_path / "go on").touch()
    wait_for_made(installed.home, installed.project)
    made = rewind.json("list")["checkpoints"][0]
    assert made["description"] == "Before: x" and made["late"] is False
    data = json.loads((rewind.state / "checkpoints" / made["name"] / "metadata.json").read_text())
    assert data["git"]["branch"] == "one" and data["transcript"]["cursor"]["byte_offset_end"] == size
    rewind.ok("restore", made["name"], "--code-only", "--to", str(tmp_path / "out"))
    assert (tmp_path / "out" / "a.txt").read_text() == "before\n"
    assert not installed.logged()


def test_what_goes_wrong_after_the_agent_has_gone_on_is_counted(installed: Installed, rewind: Rewind) -> None:
    rewind.init()
    create = installed.package / "checkpoint" / "save" / "create.py"
    text = create.read_text()
    for error, reason in (("os.kill(os.getpid(), 9)", KILLED), ("raise OSError(28, 'no room')", "no room")):
        create.write_text(f"{text}\ndef write_record(*args, **more):\n    {error}\n")
        assert silent(installed.run(data=installed.payload(prompt=error)))
        assert not is_being_made(rewind) or reason == KILLED
        assert reason in rewind.json("list")["missed"]["text"] and len(rewind.names()) == 1
    create.write_text(text)
    assert silent(installed.run()) and len(rewind.names()) == 2


def test_an_edit_of_what_no_checkpoint_holds_waits_until_that_is_written(
        installed: Installed, rewind: Rewind, tmp_path: Path) -> None:
    (installed.project / ".rewindignore").write_text("only.txt\n")
    (installed.project / "only.txt").write_text("nobody else has it\n")
    rewind.init()
    stop_before_writing(installed, tmp_path / "go on")
    given = {"file_path": str(installed.project / "only.txt"), "old_string": "a", "new_string": "b"}
    client = start(installed, "pre-tool-use", tool_name="Edit", tool_input=given, tool_use_id="t")
    assert_it_waits(client, tmp_path / "go on")
    assert len(rewind.names()) == 2 and not is_being_made(rewind)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no list of processes here")
def test_where_nobody_buries_processes_the_agent_waits_for_the_end(installed: Installed, rewind: Rewind,
                                                                  tmp_path: Path) -> None:
    """In a container whose first process is a program like any other, each hook would leave a dead one."""
    rewind.init()
    assert silent(installed.run())
    path = rewind.state / "hook-state.json"
    left = json.loads(path.read_text())["left"]
    assert left and until(lambda: process_start(left) is None)  # it may stay for other hooks
    dead = os.posix_spawn("/bin/true", ["true"], {})
    try:
        path.write_text(json.dumps({**json.loads(path.read_text()), "left": dead}))
        assert until(lambda: is_zombie(dead))
        stop_before_writing(installed, tmp_path / "go on")
        client = start(installed, prompt_id="another")
        assert_it_waits(client, tmp_path / "go on")
        assert len(rewind.names()) == 3 and json.loads(path.read_text())["left"] == dead
    finally:
        os.waitpid(dead, 0)


def test_the_start_of_a_session_is_answered_although_its_checkpoint_takes_long(
        installed: Installed, rewind: Rewind) -> None:
    rewind.init()
    rewind.ok("config", "--set", "hooks.sessionStartContext=true")
    with held_lock(rewind):  # type: ignore[arg-type]
        result = installed.run("session-start", installed.payload(source="startup"))
        assert result.code == 0 and "Rewind takes checkpoints" in result.out
    wait_for_late(rewind)
    assert len(rewind.names()) == 2


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no list of a process's threads here")
@pytest.mark.parametrize("group", [False, True])
def test_a_client_that_kills_its_hook_does_not_end_the_checkpoint(installed: Installed, rewind: Rewind,
                                                                  group: bool) -> None:
    """The agent may be at work from then on, so what is made afterwards is late."""
    rewind.init()
    with held_lock(rewind):  # type: ignore[arg-type]
        client = subprocess.Popen([installed.shim, "user-prompt-submit"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, cwd=installed.project, start_new_session=True,
                                  env={**clean_env(installed.home), "CLAUDECODE": "1"})
        assert client.stdin and client.stdout
        client.stdin.write(installed.payload())
        client.stdin.close()
        maker = maker_of(client.pid)
        assert until(lambda: len(os.listdir(f"/proc/{maker}/task")) > 1)  # it has begun to wait for the lock
        (os.killpg if group else os.kill)(client.pid, signal.SIGKILL)
        with client:
            assert client.stdout.read() == b""  # once the hook has noticed
        assert until(lambda: rewind.json("list")["late"])
    wait_for_late(rewind)
    assert [one["late"] for one in rewind.json("list")["checkpoints"]] == [True, False]


def maker_of(script: int) -> str:
    children = Path(f"/proc/{script}/task/{script}/children")
    assert until(lambda: children.read_text().split())
    return children.read_text().split()[0]


def test_a_hook_that_is_killed_while_it_looks_at_the_tree_is_counted(installed: Installed,
                                                                     rewind: Rewind) -> None:
    rewind.init()
    walk = installed.package / "snapshot" / "scan" / "walk.py"
    begin = "    def run(self, processes: int) -> WalkResult:\n"
    text = walk.read_text()
    assert begin in text
    walk.write_text(text.replace(begin, f"{begin}        os.kill(os.getpid(), 9)\n"))
    assert silent(installed.run())
    (line,) = installed.logged()
    assert "exit status 137" in line
    assert KILLED in rewind.json("list")["missed"]["text"] and len(rewind.names()) == 1


# the interpreter

def test_an_interpreter_that_moved_is_replaced_by_the_one_on_the_path(installed: Installed, rewind: Rewind,
                                                                     tmp_path: Path) -> None:
    rewind.init()
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    installed.write("/no/such/python3.99")
    assert silent(installed.run(PATH=f"{folder}:{os.environ['PATH']}"))
    assert len(rewind.names()) == 2


def fake(path: Path, script: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return str(path)


def test_whatever_status_python_has_the_agent_sees_0(installed: Installed, tmp_path: Path) -> None:
    for status, action in product((1, 2, 3, 126, 127, 139, 255), ACTIONS):
        script = f"#!/bin/sh\necho noise >&2\nexit {status}\n"
        installed.write(fake(tmp_path / "bin" / "python3", script))
        assert silent(installed.run(action)), (status, action)
        (line,) = installed.logged()
        assert f"exit status {status}" in line and action in line, (status, action)
        installed.log.unlink()


def test_an_interpreter_that_is_killed_is_logged(installed: Installed, tmp_path: Path) -> None:
    installed.write(fake(tmp_path / "bin" / "python3", "#!/bin/sh\nkill -9 $$\n"))
    result = installed.run()
    assert (result.code, result.out) == (0, "") and len(installed.logged()) == 1


def test_no_interpreter_anywhere_is_logged(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    installed.write("/no/such/python3")
    result = installed.run(shell="/bin/sh", PATH=str(tmp_path / "empty"))
    assert silent(result) and len(installed.logged()) == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_a_log_that_cannot_be_written_is_not_worth_a_word(installed: Installed, tmp_path: Path,
                                                          shell: str) -> None:
    installed.log = tmp_path / "no" / "such" / "folder" / "rewind.log"
    installed.write(fake(tmp_path / "bin" / "python3", "#!/bin/sh\nexit 1\n"))
    assert silent(installed.run(shell=shell))


# the library

MODULES = ("__init__.py", "errors.py", "files.py", "paths.py", "fast/quickjson.py", "config/load.py",
           "config/settings.py", "agents/registry.py", "agents/profile.py", "agents/profiles/claude.json",
           "config/tiers/balanced.json", "hooks/start.py", "hooks/entry.py", "hooks/handle.py",
           "hooks/event.py", "hooks/decide.py", "hooks/memory/hook_state.py", "hooks/memory/log.py",
           "hooks/making/checkpoint.py", "hooks/making/in_time.py", "hooks/making/queue.py",
           "hooks/making/work.py", "hooks/memory/session_file.py", "controller.py",
           "store/objects.py", "snapshot/scan/scan.py")


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("how", ["deleted", "half-written"])
def test_a_library_that_is_half_there_is_silent_and_logged(installed: Installed, rewind: Rewind, module: str,
                                                           how: str) -> None:
    rewind.init()
    path = installed.package / module
    if how == "deleted":
        path.unlink()
    else:
        text = path.read_text()
        path.write_text(text[:len(text) // 2] + "\n((( cut")
    assert silent(installed.run())
    project_log = rewind.state / "rewind.log"
    lines = [*installed.logged(), *(project_log.read_text().splitlines() if project_log.exists() else [])]
    assert len(lines) == 1 or len(rewind.names()) == 2, lines


def test_a_library_that_was_deleted_is_silent_and_logged(installed: Installed) -> None:
    shutil.rmtree(installed.library)
    for number, action in enumerate(ACTIONS, 1):
        assert silent(installed.run(action)), action
        assert len(installed.logged()) == number, action


def test_a_library_of_empty_files_is_silent(installed: Installed, rewind: Rewind) -> None:
    """As after a loss of power, when the names were written and the bytes were not."""
    rewind.init()
    for path in installed.package.rglob("*.py"):
        path.write_bytes(b"")
    assert silent(installed.run())


def test_a_whole_home_that_was_deleted_is_silent(installed: Installed, rewind: Rewind) -> None:
    rewind.init()
    shutil.rmtree(installed.home)
    installed.home.mkdir()
    assert silent(installed.run())


# the environment

def test_variables_of_python_do_not_reach_it(installed: Installed, rewind: Rewind, tmp_path: Path) -> None:
    rewind.init()
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "zlib.py").write_text("raise SystemExit(2)")
    (tmp_path / "evil" / "os.py").write_text("raise SystemExit(2)")
    folder = str(tmp_path / "evil")
    assert silent(installed.run(PYTHONPATH=folder, PYTHONHOME=folder, PYTHONSTARTUP=folder + "/os.py"))
    assert len(rewind.names()) == 2


def test_modules_in_the_project_are_not_imported(installed: Installed, rewind: Rewind) -> None:
    rewind.init()
    for name in ("zlib", "rewind", "json", "sqlite3", "time", "hashlib"):
        (rewind.project / f"{name}.py").write_text("raise SystemExit(2)")
    assert silent(installed.run())
    assert len(rewind.names()) == 2


def test_an_almost_empty_environment_is_enough(installed: Installed, rewind: Rewind) -> None:
    rewind.init()
    done = subprocess.run([installed.shim, "user-prompt-submit"], input=installed.payload(), cwd="/",
                          env={"HOME": str(installed.home), "CLAUDECODE": "1"}, capture_output=True,
                          timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(rewind.names()) == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null", ">/dev/full"])
def test_streams_that_are_closed_or_full_upset_nothing(installed: Installed, rewind: Rewind,
                                                       closed: str) -> None:
    rewind.init()
    done = subprocess.run(["/bin/sh", "-c", f'"$1" user-prompt-submit {closed}', "sh", str(installed.shim)],
                          input=installed.payload(), cwd=installed.project, capture_output=True, timeout=60,
                          env={**clean_env(installed.home), "CLAUDECODE": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_it_is_read_by_the_strictest_shell(installed: Installed) -> None:
    for shell in SHELLS:
        command = [shell, *(["sh"] if shell.endswith("busybox") else []), "-n", str(installed.shim)]
        assert subprocess.run(command, capture_output=True).returncode == 0, shell
