"""The examples of docs/python.md are run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import rewind
from chat_scene import SESSION, Claude
from make_transcripts import place
from rewind_cli import CHECKOUT, clean_env

PAGE = CHECKOUT / "docs" / "python.md"


def test_the_examples_run_one_after_the_other(project: Path, home: Path) -> None:
    (project / "app.py").write_text("print('hello')\n")
    talk = Claude(project)
    talk.turn("Greet people by their name")
    talk.turn("Make it friendlier")
    place(home, "claude", project, b"".join(line + b"\n" for line in talk.lines), SESSION)
    (home / ".claude" / "sessions").mkdir(parents=True)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S))
    assert code.count("Controller") > 2
    env = {**clean_env(home), "PYTHONPATH": str(CHECKOUT / "src")}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=project, env=env,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Make it friendlier" in done.stdout and "claude --resume" in done.stdout


def test_the_package_offers_what_it_says() -> None:
    assert set(rewind.__all__) == {"Controller", "__version__"}
    assert rewind.Controller.__name__ == "Controller"
    assert (CHECKOUT / "src/rewind/py.typed").exists()
