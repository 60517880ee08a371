"""Atomic writes, the lock and detached processes, tried with real processes that die at the wrong time."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

import pytest

from rewind import files
from rewind.errors import Locked, RewindError
from rewind.files import (
    Lock,
    WaitingLine,
    boot_id,
    draft_of,
    is_wanted,
    make_durable_dir,
    process_start,
    read_bounded,
    sweep_drafts,
    write_atomic,
)

SOURCE = str(Path(__file__).resolve().parents[1] / "src")
_PRELUDE = f"import os, sys, time; sys.path.insert(0, {SOURCE!r}); from rewind import files\n"
_HOLD = _PRELUDE + """
with files.Lock(sys.argv[1], "save", wait=5):
    print("held", flush=True)
    sys.stdin.read()
"""
_FORK_AND_RELEASE = _PRELUDE + """
with files.Lock(sys.argv[1], "save", wait=5):
    if not os.fork():
        time.sleep(300)
        os._exit(0)
print("released", flush=True)
sys.stdin.read()
"""


@contextmanager
def python(code: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said its first word, and that ends with the block, children included."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, *args], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin and process.stdout
    try:
        assert process.stdout.readline(), "it died before it said anything"
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdin.close()
        process.stdout.close()


def until(true: Callable[[], object], seconds: float = 90) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


# the lock

def test_a_second_process_waits_and_then_gives_up_naming_the_holder(path: str) -> None:
    with python(_HOLD, path) as holder:
        with pytest.raises(Locked) as caught, Lock(path, "restore", wait=0.1):
            pass
        assert f"rewind save (process {holder.pid})" in caught.value.message
        assert caught.value.exit_code == 11


def test_a_waiting_process_gets_the_lock_when_the_holder_lets_go(path: str) -> None:
    with python(_HOLD, path) as holder:
        with pytest.raises(Locked), Lock(path, "restore", wait=0):
            pass
        assert holder.stdin
        holder.stdin.close()
        with Lock(path, "restore", wait=20):
            assert Path(path).read_text().rstrip() == f"{os.getpid()} rewind restore"


def test_the_lock_of_a_killed_process_is_free_at_once(path: str) -> None:
    with python(_HOLD, path) as holder:
        holder.kill()
        holder.wait()
        with Lock(path, "restore", wait=0) as lock:
            assert lock.fd >= 0


def test_a_forked_child_does_not_keep_the_lock_that_its_parent_has_released(path: str) -> None:
    with python(_FORK_AND_RELEASE, path), Lock(path, "restore", wait=0) as lock:
        assert lock.fd >= 0


def test_a_started_program_does_not_inherit_the_lock(path: str) -> None:
    with Lock(path, "save", wait=0):
        child = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        with Lock(path, "restore", wait=0) as lock:
            assert lock.fd >= 0
    finally:
        child.kill()
        child.wait()


def test_the_lock_is_released_when_the_work_under_it_fails(path: str) -> None:
    with pytest.raises(ZeroDivisionError), Lock(path, "save", wait=0):
        raise ZeroDivisionError
    with Lock(path, "save", wait=0) as lock:
        assert lock.fd >= 0
    assert lock.fd == -1


def test_the_lock_does_not_follow_a_planted_link(path: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.symlink(victim, path)
    with pytest.raises(OSError), Lock(path, "save", wait=0):
        pass
    assert victim.read_text() == "precious"


def test_the_lock_tells_the_time_of_its_file_system(path: str) -> None:
    with Lock(path, "save", wait=0) as lock:
        os.utime(path, (1, 1))
        assert lock.now_ns() == os.stat(path).st_mtime_ns > 10**9


# the claim file, where there is no flock

@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def claim_of(host: str, boot: str, pid: int, start: str) -> str:
    return f"{host}\n{boot}\n{pid}\n{start}\nsave\n"


def mine() -> tuple[str, str, int, str]:
    return os.uname().nodename, boot_id(), os.getpid(), process_start(os.getpid()) or ""


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_without_flock_a_claim_file_keeps_others_out(path: str, no_flock: None) -> None:
    with Lock(path, "save", wait=0):
        assert Path(path + ".claim").read_text() == claim_of(*mine())
        with pytest.raises(Locked), Lock(path, "restore", wait=0.05):
            pass
    assert not os.path.exists(path + ".claim")
    with Lock(path, "restore", wait=0) as lock:
        assert lock.fd >= 0


def test_the_claim_of_a_process_that_is_gone_is_stale(path: str, no_flock: None) -> None:
    host, boot, _, start = mine()
    Path(path + ".claim").write_text(claim_of(host, boot, dead_pid(), start))
    with Lock(path, "save", wait=0):
        assert Path(path + ".claim").read_text() == claim_of(*mine())


def test_a_claim_with_a_pid_that_lives_a_second_life_is_stale(path: str, no_flock: None) -> None:
    host, boot, pid, _ = mine()
    Path(path + ".claim").write_text(claim_of(host, boot, pid, "1"))
    with Lock(path, "save", wait=0) as lock:
        assert lock.fd >= 0


def test_a_claim_from_before_the_reboot_is_stale(path: str, no_flock: None) -> None:
    host, _, pid, start = mine()
    Path(path + ".claim").write_text(claim_of(host, "another-boot", pid, start))
    with Lock(path, "save", wait=0) as lock:
        assert lock.fd >= 0


def test_a_claim_of_another_host_is_respected(path: str, no_flock: None) -> None:
    _, _, _, start = mine()
    text = claim_of("another-host", "another-boot", dead_pid(), start)
    Path(path + ".claim").write_text(text)
    with pytest.raises(Locked), Lock(path, "save", wait=0.05):
        pass
    assert Path(path + ".claim").read_text() == text


@pytest.mark.parametrize("text", ["host", "h\nb\nno number\ns\nsave\n", "\xff" * 5000])
def test_a_claim_that_makes_no_sense_is_never_a_crash(path: str, no_flock: None, text: str) -> None:
    text = text.replace("h\n", os.uname().nodename + "\n", 1).replace("\nb\n", f"\n{boot_id()}\n", 1)
    Path(path + ".claim").write_text(text)
    try:
        with Lock(path, "save", wait=0.05):
            pass
    except Locked:
        pass


def test_any_other_trouble_with_the_lock_is_reported(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fd: int, operation: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="Input/output"), Lock(path, "save", wait=0):
        pass


# atomic writes

def test_a_file_is_replaced_as_a_whole_and_private(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(str(target), b"one")
    write_atomic(str(target), b"two" * 100_000, sync=False)
    assert target.read_bytes() == b"two" * 100_000
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_reader_sees_the_old_or_the_new_content_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(str(target), b"0" * 50_000)
    code = _PRELUDE + """
print("ready", flush=True)
for n in range(100_000):
    files.write_atomic(sys.argv[1], (b"%d" % (n % 10)) * 50_000, sync=False)
"""
    with python(code, str(target)):
        seen = {target.read_bytes() for _ in range(300)}
    assert all(len(text) == 50_000 and len(set(text)) == 1 for text in seen)


def test_an_error_leaves_the_old_file_and_no_temporary_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            write_atomic(str(target), b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError):
        write_atomic(str(tmp_path / "file"), b"new")
    assert os.listdir(tmp_path) == ["file"]


def test_a_planted_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    os.symlink(victim, tmp_path / f".file.{os.getpid()}.tmp")
    try:
        write_atomic(str(tmp_path / "file"), b"new")
    except OSError:
        pass
    assert victim.read_bytes() == b"precious"


def test_a_link_in_place_of_the_file_itself_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    os.symlink(victim, tmp_path / "file")
    write_atomic(str(tmp_path / "file"), b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "file").read_bytes() == b"new" and not (tmp_path / "file").is_symlink()


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:7]))
        write_atomic(str(tmp_path / "file"), bytes(range(256)))
    assert (tmp_path / "file").read_bytes() == bytes(range(256))


# bounded reads

def test_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bounded(str(tmp_path / "file"), 5) == b"12345"
    (tmp_path / "file").write_bytes(b"")
    assert read_bounded(str(tmp_path / "file"), 0) == b""


def test_a_file_over_the_limit_is_refused_without_reading_it(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RewindError, match="at most 5"):
        read_bounded(str(tmp_path / "file"), 5)


def test_a_fifo_is_refused_and_nobody_waits_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(RewindError, match="not a regular file"):
        read_bounded(str(tmp_path / "fifo"), 5)


def test_a_directory_and_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.symlink("file", tmp_path / "link")
    with pytest.raises((RewindError, OSError)):
        read_bounded(str(tmp_path), 5)
    with pytest.raises(OSError):
        read_bounded(str(tmp_path / "link"), 5)


# processes

def test_a_process_has_one_token_for_all_its_life() -> None:
    assert process_start(os.getpid()) == process_start(os.getpid()) is not None


def test_a_process_that_is_gone_has_no_token() -> None:
    assert process_start(dead_pid()) is None


def test_a_process_that_nobody_has_reaped_counts_as_gone() -> None:
    process = subprocess.Popen(["true"])
    try:
        assert until(lambda: process_start(process.pid) is None)
    finally:
        process.wait()


def test_a_name_with_spaces_and_brackets_does_not_confuse_the_token(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "30"])
    try:
        token = process_start(process.pid)
        assert token and token.isdigit()
    finally:
        process.kill()
        process.wait()


def test_a_detached_process_is_tied_to_nothing_of_ours(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = (f"import os, sys; text = ' '.join(map(str, [os.getpid(), os.getppid(), os.getsid(0),"
            f" *(os.readlink('/proc/self/fd/%d' % n) for n in (0, 1, 2))]));"
            f" open({str(told)!r} + '.new', 'w').write(text);"
            f" os.rename({str(told)!r} + '.new', {str(told)!r})")
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("no /proc here")
    starter = _PRELUDE + "files.spawn_detached(['-I', '-S', '-c', sys.argv[1]]); print(os.getpid())"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", starter, code], check=True,
                          capture_output=True, text=True, timeout=60)
    assert until(told.exists), "the detached process never ran"
    pid, parent, session, *streams = told.read_text().split(" ")
    assert parent != done.stdout.strip() and session not in (pid, str(os.getsid(0)))
    assert streams == ["/dev/null"] * 3


def test_starting_a_detached_process_does_not_wait_for_it_and_leaves_no_child(tmp_path: Path) -> None:
    code = _PRELUDE + """
files.spawn_detached(["-c", "import os, time; open(%r, 'w').write(str(os.getpid())); time.sleep(300)"
                      % sys.argv[1]])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child")
"""
    told = tmp_path / "told"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(told)], timeout=90,
                          capture_output=True, text=True, check=True)
    assert done.stdout == "no child\n"
    assert until(lambda: told.exists() and told.read_text())
    os.kill(int(told.read_text()), signal.SIGKILL)


def test_drafts_of_killed_processes_are_swept_and_nothing_else(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    kept = (".a.json.1.tmp", f".a.json.{os.getpid()}.tmp", ".a.json.x.tmp", f".b.json.{gone.pid}.tmp",
            ".a.json.tmp", f"a.json.{gone.pid}.tmp", "a.json")
    for name in (*kept, f".a.json.{gone.pid}.tmp"):
        (tmp_path / name).write_text("")
    sweep_drafts(str(tmp_path / "a.json"))
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    assert draft_of(str(tmp_path / "a.json")) == str(tmp_path / kept[1])
    sweep_drafts(str(tmp_path / "nowhere" / "a.json"))


def test_a_durable_directory_is_synced_into_the_one_above(tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(files, "fsync_dir", synced.append)
    make_durable_dir(str(tmp_path / "a" / "b"))
    assert synced == [str(tmp_path), str(tmp_path / "a")]
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


# whoever waits comes before upkeep

_UPKEEP = _PRELUDE + """
path, order = sys.argv[1:3]
for turn in range(2):
    with files.Lock(path, "gc", wait=30, upkeep=True):
        with open(order, "a") as file:
            file.write("upkeep\\n")
        if not turn:
            print("held", flush=True)
            sys.stdin.readline()
print("done", flush=True)
"""
_WAIT_IN_LINE = _PRELUDE + """
path, order = sys.argv[1:3]
print("here", flush=True)
with files.Lock(path, "save", wait=30, in_line=True):
    with open(order, "a") as file:
        file.write("save\\n")
"""


def test_who_waits_gets_the_lock_before_upkeep_takes_it_again(path: str, tmp_path: Path) -> None:
    order = tmp_path / "order"
    with python(_UPKEEP, path, str(order)) as upkeep, python(_WAIT_IN_LINE, path, str(order)) as saver:
        assert upkeep.stdin and upkeep.stdout
        assert until(lambda: not WaitingLine(path).is_empty())
        upkeep.stdin.write("\n")
        upkeep.stdin.flush()  # it lets go, and wants the lock again at once
        assert upkeep.stdout.readline() == "done\n" and saver.wait(90) == 0
    assert order.read_text().split() == ["upkeep", "save", "upkeep"]


def test_upkeep_leaves_a_free_lock_alone_while_somebody_stands_in_line(path: str) -> None:
    line = WaitingLine(path)
    line.join()
    with pytest.raises(Locked), Lock(path, "gc", wait=0, upkeep=True):
        pass
    with Lock(path, "save", wait=0, in_line=True) as lock:
        assert lock.fd >= 0
    line.leave()
    with Lock(path, "gc", wait=0, upkeep=True) as lock:
        assert lock.fd >= 0


def test_several_stand_in_line_until_the_last_has_left(path: str) -> None:
    lines = [WaitingLine(path), WaitingLine(path)]
    for line in lines:
        line.join()
    lines[0].leave()
    assert not WaitingLine(path).is_empty()
    lines[1].leave()
    assert WaitingLine(path).is_empty()


def test_who_is_killed_in_line_does_not_hold_upkeep_up(path: str, tmp_path: Path) -> None:
    with Lock(path, "restore", wait=0), python(_WAIT_IN_LINE, path, str(tmp_path / "order")) as saver:
        assert until(lambda: not WaitingLine(path).is_empty())
        saver.kill()
        saver.wait()
        assert WaitingLine(path).is_empty()


def test_a_line_that_cannot_be_written_holds_nobody_up(path: str) -> None:
    os.mkdir(path + ".waiting")
    line = WaitingLine(path)
    line.join()
    assert line.is_empty()
    with Lock(path, "gc", wait=0, upkeep=True), pytest.raises(Locked), \
            Lock(path, "save", wait=0.01, in_line=True):
        pass


def test_a_lock_is_wanted_while_it_is_held_or_waited_for(path: str) -> None:
    assert not is_wanted(path)
    with Lock(path, "save", wait=0):
        assert is_wanted(path)
    assert not is_wanted(path)
    line = WaitingLine(path)
    line.join()
    assert is_wanted(path)
    line.leave()
    assert not is_wanted(path)


def test_without_flock_upkeep_rests_so_that_others_get_their_turn(path: str, no_flock: None,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    WaitingLine(path).join()
    assert WaitingLine(path).is_empty()  # nobody is seen there
    rests: list[float] = []
    monkeypatch.setattr(files.time, "sleep", rests.append)
    with Lock(path, "gc", wait=0, upkeep=True):
        assert is_wanted(path)
    assert rests == [files._LOOK_AGAIN_LATER]
    with Lock(path, "save", wait=0, in_line=True):
        pass
    assert len(rests) == 1


# detached processes

_DETACH = _PRELUDE + """
files.spawn_detached(["-I", "-S", "-c", sys.argv[1], sys.argv[2]])
print("gone", flush=True)
"""
_DETACHED = """
import os, sys, time
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {os.getsid(0)} {os.getcwd()}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
while os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""


def test_nobody_who_reads_a_pipe_to_its_end_waits_for_a_detached_process(tmp_path: Path) -> None:
    """The shim's third descriptor is the client's standard error: any number must be closed."""
    told = tmp_path / "told"
    out, into = os.pipe()
    third = fcntl.fcntl(into, fcntl.F_DUPFD, 20)
    try:
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _DETACH, _DETACHED, str(told)],
                                   stdout=into, stderr=into, pass_fds=[third], cwd=tmp_path)
        os.close(into)
        os.close(third)
        assert until(told.exists), "it was not started"
        pid, session, folder = told.read_text().split(" ", 2)
        assert process.wait(90) == 0
        said = b""
        while True:  # without an end, if the detached process had it open
            os.set_blocking(out, False)
            try:
                part = os.read(out, 100)
            except BlockingIOError:
                pytest.fail("the detached process has the pipe of its starter open")
            if not part:
                break
            said += part
        assert said == b"gone\n" and process_start(int(pid)), "it had ended by itself"
        assert int(session) not in (os.getsid(0), process.pid) and folder == "/"
    finally:
        os.close(out)
        told.unlink(missing_ok=True)
