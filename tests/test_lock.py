"""The lock of one writer, also where there is no flock, and the line of those who wait for it."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from first_word import PRELUDE, dead_pid, python, until
from rewind import lock as lock_module
from rewind.errors import Locked
from rewind.lock import Lock, WaitingLine, is_wanted
from rewind.processes import boot_id, process_start

_HOLD = PRELUDE + """
with lock.Lock(sys.argv[1], "save", wait=5):
    print("held", flush=True)
    sys.stdin.read()
"""
_FORK_AND_RELEASE = PRELUDE + """
with lock.Lock(sys.argv[1], "save", wait=5):
    if not os.fork():
        time.sleep(300)
        os._exit(0)
print("released", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


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


# whoever waits comes before upkeep

_UPKEEP = PRELUDE + """
path, order = sys.argv[1:3]
for turn in range(2):
    with lock.Lock(path, "gc", wait=30, upkeep=True):
        with open(order, "a") as file:
            file.write("upkeep\\n")
        if not turn:
            print("held", flush=True)
            sys.stdin.readline()
print("done", flush=True)
"""
_WAIT_IN_LINE = PRELUDE + """
path, order = sys.argv[1:3]
print("here", flush=True)
with lock.Lock(path, "save", wait=30, in_line=True):
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
    monkeypatch.setattr(lock_module.time, "sleep", rests.append)
    with Lock(path, "gc", wait=0, upkeep=True):
        assert is_wanted(path)
    assert rests == [lock_module._LOOK_AGAIN_LATER]
    with Lock(path, "save", wait=0, in_line=True):
        pass
    assert len(rests) == 1
