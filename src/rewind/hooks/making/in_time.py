"""A hook's checkpoint, made in time: the agent waits until everything has been read, not until it is written,
and never longer than a hook may take.

The shell script that agents call waits for the hook's process, and ends early when it is told to. So a second
thread of that process makes the checkpoint, and the first one watches the clock. A hook that was started
without the script cannot let its caller go on like that. It forks a process for the checkpoint, and waits
until that process has written it.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, stack_size, start_new_thread

from rewind.hooks import TELL
from rewind.hooks.making.work import BEGUN, GOES_ON, PATIENCE, WAIT, CheckpointFailed
from rewind.hooks.memory.hook_files_lock import HookFilesLock
from rewind.processes import close_all_but, detach, drop_streams, leave_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.hooks.making.checkpoint import CheckpointSaver
    from rewind.hooks.making.queue import Queue
    from rewind.hooks.making.service import Service
    from rewind.hooks.making.work import CheckpointJob
    from rewind.snapshot.scan.moment import Moment

# Seconds from the start of a hook to its turn. A hook by itself takes 0.03; if it takes longer than the first
# number, others may be on their way, and after the second one they have no time left to wait for anybody.
_CROWDED, _TOO_CROWDED = 0.15, 1.0
_MADE = b"made"
_MOST = 4096  # bytes of an answer
_GLANCE = 0.1  # seconds between two checks whether the client still waits
_STACK = 16 << 20  # bytes; some systems give a thread too little for a deep tree


def in_time(work: CheckpointJob, script: int = 0) -> Callable[[], None] | None:
    """Have the checkpoint made, and wait only so long, by the clock. `script` is the process that waits for
    this one. The function that is returned must be called last: it lets the agent go on, and returns when the
    work is done. Raises what went wrong, if that is known in time."""
    maker = _Thread(work, script) if script and script == os.getppid() else _Process(work)
    answer = _listen(work, maker)
    if answer is None or answer == GOES_ON:
        return maker.leave
    maker.wait()
    if answer != _MADE:
        kind, _, message = answer.decode("utf-8", "replace").partition("\n")
        error = (CheckpointFailed(kind, message) if kind
                 else CheckpointFailed("Killed", "the process that saved was killed"))
        work.failed(maker.pid, error)
        raise error
    return None


class _Process:
    """Makes it in a forked process, which lives on if the client kills its hook."""

    def __init__(self, work: CheckpointJob) -> None:
        self._out, self._into = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(work)
        os.close(self._into)

    def _run(self, work: CheckpointJob) -> None:
        try:
            detach(self._into)
            HookFilesLock.wait = PATIENCE  # no agent waits for this process
            _make(work, self._tell, can_leave=False)
        finally:
            os._exit(0)

    def _tell(self, what: bytes) -> None:
        os.write(self._into, what)

    def heard(self, seconds: float) -> bytes | None:
        import select

        until = time.monotonic() + seconds
        while True:
            try:
                ready, _, _ = select.select([self._out], [], [], max(0.0, until - time.monotonic()))
            except InterruptedError:
                continue
            return os.read(self._out, _MOST) if ready else None

    def is_abandoned(self) -> bool:
        return False

    def wait(self) -> None:
        os.close(self._out)
        os.waitpid(self.pid, 0)

    def leave(self) -> None:
        """The process goes on by itself."""
        os.close(self._out)


class _Thread:
    """Makes it in a thread of this process. A client knows only the script that waits for the process."""

    def __init__(self, work: CheckpointJob, script: int) -> None:
        self.pid = os.getpid()
        self._script = script
        self._said: list[bytes] = []
        self._is_left = False
        self._news, self._free, self._ended = allocate_lock(), allocate_lock(), allocate_lock()
        for lock in (self._news, self._free, self._ended):
            lock.acquire()
        leave_session()
        close_all_but(TELL)
        os.chdir("/")
        stack_size(_STACK)
        start_new_thread(self._run, (work,))

    def _run(self, work: CheckpointJob) -> None:
        try:
            _make(work, self._tell, can_leave=True)
        finally:
            self._ended.release()

    def _tell(self, what: bytes) -> None:
        if self._is_left:
            raise BrokenPipeError
        self._is_left = what == GOES_ON
        self._said.append(what)
        if self._news.locked():
            self._news.release()
        if what == BEGUN and self.is_abandoned():
            raise BrokenPipeError
        if self._is_left:
            self._free.acquire(timeout=WAIT)  # Python runs one thread at a time: first let the agent go on

    def heard(self, seconds: float) -> bytes | None:
        if not self._news.acquire(timeout=seconds):
            return None
        said = b"".join(self._said)
        del self._said[:]
        return said

    def is_abandoned(self) -> bool:
        return os.getppid() != self._script

    def wait(self) -> None:
        self._ended.acquire()

    def leave(self) -> None:
        """Closes the client's streams first, because it may read its pipes to their end."""
        drop_streams(TELL)
        HookFilesLock.wait = PATIENCE  # no agent waits any more
        if not self.is_abandoned():
            from _signal import SIGUSR1  # type: ignore[import-not-found]  # `signal` brings `enum` along

            os.kill(self._script, SIGUSR1)
        self._free.release()
        self.wait()


def _listen(work: CheckpointJob, maker: _Process | _Thread) -> bytes | None:
    """What the maker says in the end; None after this hook has noted that the checkpoint is late."""
    while True:
        heard = _heard_in_time(maker, work.moment)
        if heard is None:
            with HookFilesLock(work.project.place_dir):
                # The maker begins and ends under this lock: it has spoken by now, or finds that it is late.
                heard = maker.heard(0)
                if heard is None:
                    work.note_late(maker.pid)
                    heard = maker.heard(0)  # nobody waits long for this lock, so both may have gone ahead
                    if heard is None:
                        return None
                    work.note_ended(maker.pid)
        if not heard.startswith(BEGUN):
            return heard
        work.has_begun()
        if heard != BEGUN:
            return heard[len(BEGUN):]


def _heard_in_time(maker: _Process | _Thread, moment: Moment) -> bytes | None:
    """What the maker says, which is empty if it was killed; None if it says nothing until the moment is over.
    The moment also ends when the client kills its hook, because then the agent goes on."""
    while True:
        heard = maker.heard(min(moment.left(), _GLANCE))
        if heard is not None or moment.is_over():
            return heard
        if maker.is_abandoned():
            moment.end_at(time.monotonic())


def _make(work: CheckpointJob, tell: Callable[[bytes], None], *, can_leave: bool) -> None:
    finish = None
    try:
        finish = _made(work, tell, can_leave)
        error = None
    except BaseException as problem:
        error = CheckpointFailed(type(problem).__name__, str(problem))
    _report(work, tell, error, GOES_ON if finish else _MADE)
    if finish:
        finish()


def _made(work: CheckpointJob, tell: Callable[[bytes], None], can_leave: bool) -> Callable[[], None] | None:
    """The function that is returned is to be called once the agent has gone on."""
    work.begin(tell, can_leave)
    with work.queue() as queue:
        delay = work.delay()
        saver = None if queue.is_done else _own(work, queue)
        work.is_made = queue.is_done or saver is not None
        return _work_to_finish(saver, queue, delay) if saver else None


def _own(work: CheckpointJob, queue: Queue) -> CheckpointSaver | None:
    """None if another process takes care of the same event."""
    from rewind.hooks.making.checkpoint import CheckpointSaver

    saver = CheckpointSaver(work, queue)
    return saver if saver.save_own() else None


def _work_to_finish(saver: CheckpointSaver, queue: Queue, delay: float) -> Callable[[], None] | None:
    service = _service(saver, queue, delay)
    if service is None:
        return saver.fold_wals if saver.has_long_wal() else None

    def finish() -> None:
        service.run()
        saver.fold_wals()

    return finish


def _service(saver: CheckpointSaver, queue: Queue, delay: float) -> Service | None:
    """A service, if other hooks wait or may be on their way: a long delay means that many are at work."""
    stay = delay if _CROWDED < delay < _TOO_CROWDED and saver.took < _CROWDED else 0.0
    if not stay and not queue.waiting():
        return None
    from rewind.hooks.making.service import Service

    service = Service(saver, queue, stay)
    if not service.can_serve(queue.waiting()):
        return None
    queue.keep()
    return service


def _report(work: CheckpointJob, tell: Callable[[bytes], None], error: CheckpointFailed | None,
            made: bytes) -> None:
    """Tell the hook. If it does not listen any more, because it gave up waiting or was killed, an error is
    noted here."""
    with HookFilesLock(work.project.place_dir):
        is_heard = not (work.is_late() if error else work.note_made())
        try:
            if is_heard:
                tell(error.encode()[:_MOST] if error else made)
        except OSError:
            is_heard = False
    if error and not is_heard:
        work.failed(os.getpid(), error)
