"""The page's JavaScript by itself, where there is a node to run it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rewind_cli import CHECKOUT

NODE = shutil.which("node")


@pytest.mark.skipif(not NODE, reason="SKIPPED, the page's modules were not tested: there is no node here")
def test_modules_do_what_they_say(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "src" / "rewind" / "web" / "static", tmp_path / "static")
    shutil.copy(Path(__file__).parent / "units.mjs", tmp_path / "units.mjs")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    done = subprocess.run([str(NODE), "--test", "units.mjs"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout or "fail 0" in done.stdout
