"""What a hook syncs to the disk: each has its promise in docs/reliability.md, and there are no others."""

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
RECORD = [".metadata.json.PID.tmp", "NAME", "checkpoints"]

pytestmark = pytest.mark.skipif(not has_strace(), reason="needs strace")


def synced(rewind: Rewind, log: Path, prompt: str) -> list[str]:
    """By the hook of a prompt and the process that saves for it, in their order."""
    data = {"session_id": SESSION, "transcript_path": "", "cwd": str(rewind.project), "prompt": prompt,
            "prompt_id": prompt}
    trace = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", "trace=fsync,fdatasync"]
    done = subprocess.run([*trace, *map(str, entry_command("user-prompt-submit"))], cwd=rewind.project,
                          input=json.dumps(data).encode(), capture_output=True, timeout=120,
                          env={**clean_env(rewind.home), "CLAUDECODE": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    names = [Path(path).name for path in _SYNC.findall(log.read_text())]
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
