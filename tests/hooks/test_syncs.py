"""What a hook reads, and what it syncs to the disk: each sync has its promise in docs/reliability.md."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from faults.fault_points import has_strace
from hook_scene import SESSION, entry_command
from rewind_cli import Rewind, clean_env

_SYNC = re.compile(r"\b(?:fsync|fdatasync)\(\d+<([^>]*)>")
_READ = re.compile(r'\bopenat\(AT_FDCWD[^,]*, "([^"]*)", O_RDONLY[^)]*\) = \d')
RECORD = [".metadata.json.PID.tmp", "NAME", "checkpoints"]

pytestmark = pytest.mark.skipif(not has_strace(), reason="needs strace")


def traced(rewind: Rewind, log: Path, prompt: str, calls: str) -> str:
    """Of the hook of a prompt and the process that saves for it."""
    data = {"session_id": SESSION, "transcript_path": "", "cwd": str(rewind.project), "prompt": prompt,
            "prompt_id": prompt}
    trace = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", f"trace={calls}"]
    done = subprocess.run([*trace, *map(str, entry_command("user-prompt-submit"))], cwd=rewind.project,
                          input=json.dumps(data).encode(), capture_output=True, timeout=120,
                          env={**clean_env(rewind.home), "CLAUDECODE": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return log.read_text()


def synced(rewind: Rewind, log: Path, prompt: str) -> list[str]:
    """In their order."""
    names = [Path(path).name for path in _SYNC.findall(traced(rewind, log, prompt, "fsync,fdatasync"))]
    return [re.sub(r"^\d{8}_\d{6}_\d{3}$", "NAME", re.sub(r"\.\d+\.tmp$", ".PID.tmp", name))
            for name in names]


def test_a_checkpoint_syncs_its_content_and_its_record_and_no_more(rewind: Rewind, tmp_path: Path) -> None:
    rewind.init()
    for number in range(3):  # the first ones begin the WALs
        (rewind.project / "a.txt").write_text(f"{number}\n")
        synced(rewind, tmp_path / "log", f"before {number}")
    assert synced(rewind, tmp_path / "log", "nothing is new") == RECORD
    (rewind.project / "a.txt").write_text("something new\n")
    content = ["objects.db-wal", rewind.state.name]
    assert synced(rewind, tmp_path / "log", "a file is new") == [*content, *RECORD]
    assert rewind.json("validate", "--deep")["ok"] and len(rewind.names()) == 6


def test_each_small_file_is_read_once(rewind: Rewind, tmp_path: Path) -> None:
    """Only the state of the hooks is read again, by everybody who changes it."""
    (rewind.home / ".rewind").mkdir(exist_ok=True)
    (rewind.home / ".rewind" / "config.json").write_text('{"tier": "balanced"}')
    rewind.init()
    synced(rewind, tmp_path / "log", "the first one")
    read = _READ.findall(traced(rewind, tmp_path / "log", "the second one", "openat"))
    ours = [Path(path).name for path in read if path.endswith(".json") and "/checkpoints/" not in path]
    counts = {name: ours.count(name) for name in ours}
    assert counts.pop("hook-state.json") == 3
    assert counts["balanced.json"] == 1 and set(counts.values()) == {1}
