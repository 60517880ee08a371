"""Servers for remotes: `git daemon`, and an sshd on this machine with its own port and keys. The user's ssh
configuration is neither read nor changed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 20.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def _stop(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


@contextmanager
def daemon(top: Path) -> Iterator[str]:
    """Run `git daemon` for all repositories in a directory. Yields the beginning of their addresses."""
    port = free_port()
    process = subprocess.Popen(
        ["git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={port}", "--export-all",
         "--enable=receive-pack", f"--base-path={top}", str(top)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait_for(port, process)
        yield f"git://127.0.0.1:{port}"
    finally:
        _stop(process)


def sshd_program() -> str:
    usual = ("/usr/sbin/sshd", "/usr/local/sbin/sshd")
    return shutil.which("sshd") or next((path for path in usual if os.path.exists(path)), "")


@contextmanager
def sshd(top: Path, env: dict[str, str]) -> Iterator[str]:
    """Run an sshd, and set in `env` how git reaches it. Yields "" if there is no sshd."""
    program = sshd_program()
    if not program:
        yield ""
        return
    folder = top / "sshd"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_bytes((folder / "user.pub").read_bytes())
    port = free_port()
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized\nPidFile {folder}/pid\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin yes\n")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # sshd needs it; usually its service makes it
    process = subprocess.Popen([program, "-D", "-f", str(folder / "config"), "-E", str(folder / "log")],
                               start_new_session=True)
    env["GIT_SSH_COMMAND"] = (f"ssh -F /dev/null -i {folder}/user -o IdentitiesOnly=yes -o BatchMode=yes"
                              f" -o UserKnownHostsFile={folder}/known -o StrictHostKeyChecking=accept-new")
    try:
        _wait_for(port, process)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        yield f"ssh://{user}@127.0.0.1:{port}"
    finally:
        _stop(process)
        del env["GIT_SSH_COMMAND"]
