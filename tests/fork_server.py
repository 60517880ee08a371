"""Runs commands in processes of their own that need not start Python and read the library anew.

A program, started by `forked.py` as a command is (`-I -S`): it reads the library once, and each request
makes a fork of it, with the arguments, the environment, the directory and the streams of a new process.
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

MOST = 128 << 10  # bytes of a request
_ROOMS = ("agents", "config", "store", "transcript", "snapshot", "checkpoint", "cli")
_NOT_THESE = ("__init__", "tui", "ui", "watch")
_waited_for = {}  # process -> where its end is told


def serve(requests, program):
    """Returns only in a process that is to be the command, which is then like a new one."""
    woken, wakes = os.pipe()
    for fd in (woken, wakes):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        for ready in select.select([requests, woken], [], [])[0]:
            if ready is woken:
                os.read(woken, 4096)
                _tell_ends()
            elif _is_fork(requests, program):
                return


def _is_fork(requests, program):
    data, fds, _, _ = socket.recv_fds(requests, MOST, 4)
    if not data:
        os._exit(0)
    *streams, told = fds
    pid = os.fork()
    if not pid:
        _become(json.loads(data), streams, program)
        return True
    os.write(told, b"%d\n" % pid)
    _waited_for[pid] = told
    for fd in streams:
        os.close(fd)
    return False


def _tell_ends():
    for pid, told in list(_waited_for.items()):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            with contextlib.suppress(BrokenPipeError):  # who asked has given up
                os.write(told, b"%d\n" % status)
            os.close(told)
            del _waited_for[pid]


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
