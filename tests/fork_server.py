"""Runs each command in its own process without starting Python and importing the library again.

`forked.py` starts this program like a command (`-I -S`). It imports the library once. For each request it
forks a process with the arguments, the environment, the directory and the streams of a new one.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

MOST = 128 << 10  # the largest request, in bytes
_ROOMS = ("agents", "config", "store", "transcript", "snapshot", "checkpoint", "cli")
_NOT_THESE = ("__init__", "tui", "ui", "watch")
_status_pipes = {}  # process -> the pipe for its pid and its exit status


def serve(requests, program):
    """Serve requests. Returns only in a forked process, which must then run the command."""
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        for ready in select.select([requests, woken], [], [])[0]:
            if ready is woken:
                os.read(woken, 4096)
                _report_ended()
            elif _fork(requests, program):
                return


def _fork(requests, program):
    """Fork for one request. Returns True in the new process."""
    data, fds, _, _ = socket.recv_fds(requests, MOST, 4)
    if not data:
        os._exit(0)
    *streams, status_pipe = fds
    pid = os.fork()
    if not pid:
        _become(json.loads(data), streams, program)
        return True
    os.write(status_pipe, b"%d\n" % pid)
    _status_pipes[pid] = status_pipe
    for fd in streams:
        os.close(fd)
    return False


def _report_ended():
    for pid, status_pipe in list(_status_pipes.items()):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            with contextlib.suppress(BrokenPipeError):  # the caller no longer waits
                os.write(status_pipe, b"%d\n" % status)
            os.close(status_pipe)
            del _status_pipes[pid]


def _become(request, streams, program):
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, max(streams) + 100)
    os.chdir(os.fsencode(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [program, *request["args"]]


def load(source):
    sys.path.insert(0, source)
    for room in _ROOMS:
        for at, _, names in sorted(os.walk(os.path.join(source, "rewind", room))):
            for name in sorted(names):
                stem, ending = os.path.splitext(name)
                if ending == ".py" and stem not in _NOT_THESE:
                    below = os.path.relpath(os.path.join(at, stem), source)
                    importlib.import_module(below.replace(os.sep, "."))
    sys.path.remove(source)


if __name__ == "__main__":
    _program, _number = sys.argv[1:]
    load(os.path.join(os.path.dirname(os.path.dirname(_program)), "src"))
    with open(_program, "rb") as _file:
        _code = compile(_file.read(), _program, "exec")
    gc.freeze()
    serve(socket.socket(fileno=int(_number)), _program)
    __file__ = _program
    exec(_code)
