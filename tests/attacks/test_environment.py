"""Variables and modules that somebody else put in the way of the hook or of the program.

That git's own variables do not mislead the ignore rules is in `snapshot/rules/test_gitfiles.py`; what the
shim does with an interpreter that is not there is in `hooks/test_shim.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hook_scene import ENTRY
from rewind_cli import PROGRAM, Rewind, tree_state

EVIL = "import os\nopen(os.environ['WITNESS'], 'a').write(__name__ + '\\n')\n"
MODULES = ("json", "re", "sqlite3", "_sqlite3", "hashlib", "rewind", "sitecustomize", "usercustomize", "site",
           "argparse", "encodings_evil", "quickjson", "time_evil", "typing", "enum")


@pytest.fixture
def witness(rewind: Rewind, tmp_path: Path) -> Path:
    """A project full of modules that would tell if somebody imported them."""
    for name in MODULES:
        (rewind.project / f"{name}.py").write_text(EVIL)
    (rewind.project / "rewind").mkdir()
    (rewind.project / "rewind" / "__init__.py").write_text(EVIL)
    return tmp_path / "witness"


def hostile(rewind: Rewind, witness: Path) -> dict[str, str]:
    project = str(rewind.project)
    return {**rewind.env, "WITNESS": str(witness), "PYTHONPATH": project, "PYTHONHOME": project,
            "PYTHONSTARTUP": f"{project}/json.py", "PYTHONUSERBASE": project, "PYTHONINSPECT": "1",
            "PYTHONBREAKPOINT": "json.breakpoint", "PYTHONWARNINGS": "error", "LD_PRELOAD": "",
            "LD_LIBRARY_PATH": project, "GIT_DIR": f"{project}/evil.git", "GIT_WORK_TREE": "/",
            "GIT_CONFIG": f"{project}/evil", "GIT_EXTERNAL_DIFF": "false", "PAGER": "false",
            "TMPDIR": f"{project}/no-such-directory"}


def test_the_hook_imports_nothing_from_the_project_or_the_environment(rewind: Rewind, witness: Path) -> None:
    rewind.init()
    git = subprocess.run(["git", "init", "-q"], cwd=rewind.project, env=rewind.env)
    assert git.returncode == 0
    session = rewind.home / ".claude" / "projects" / "p" / "0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text('{"type":"user"}\n')
    payload = {"session_id": session.stem, "transcript_path": str(session), "cwd": str(rewind.project),
               "hook_event_name": "UserPromptSubmit", "prompt": "do something"}
    before = len(rewind.names())
    done = subprocess.run([sys.executable, "-I", "-S", str(ENTRY), "user-prompt-submit"],
                          input=json.dumps(payload).encode(), env=hostile(rewind, witness),
                          cwd=rewind.project, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout == b"", done
    assert not witness.exists(), witness.read_text()
    assert len(rewind.names()) == before + 1, "the checkpoint was made all the same"


@pytest.mark.parametrize("args", [["list"], ["save"], ["diff", "last"], ["restore", "last"]], ids=" ".join)
def test_the_program_imports_nothing_from_the_current_directory(rewind: Rewind, witness: Path,
                                                               args: list[str]) -> None:
    rewind.init()
    env = {**rewind.env, "WITNESS": str(witness)}
    done = subprocess.run([sys.executable, str(PROGRAM), *args], cwd=rewind.project, env=env,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done
    assert not witness.exists(), witness.read_text()


def test_a_relative_rewind_home_is_not_one_that_a_repository_brings_along(
        rewind: Rewind, tmp_path: Path) -> None:
    """With `REWIND_HOME=.rewind` a clone could say by itself that its store is to be trusted."""
    attacker = Rewind(tmp_path / "made", tmp_path / "attackers-home")
    attacker.project.mkdir()
    attacker.home.mkdir()
    (attacker.project / "a").write_text("evil\n")
    attacker.init("project")
    shutil.copytree(attacker.project, rewind.project, dirs_exist_ok=True)
    shutil.copytree(attacker.home / ".rewind", rewind.project / ".rewind")
    shutil.rmtree(attacker.project)
    before = tree_state(rewind.state)
    for value in (".rewind", "./.rewind"):
        result = rewind.run("restore", "last", env={"REWIND_HOME": value})
        assert result.code == 1 and "init --trust" in result.err, result
    assert tree_state(rewind.state) == before
    assert not os.path.exists(rewind.project.parent / ".rewind")
