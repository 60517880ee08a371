"""The built-in list, judged by git itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rewind.config.ignore_list import LIST_FILE, builtin_ignore_patterns

CAN_BE_MADE_AGAIN = [
    "node_modules/left-pad/index.js",
    "packages/web/node_modules/x/y.js",
    "pkg/__pycache__/mod.cpython-311.pyc",
    ".venv/bin/python",
    "service/.venv/pyvenv.cfg",
    ".mypy_cache/3.11/x.json",
    ".gradle/8.5/checksums.lock",
    "infra/.terraform/providers/x",
    ".next/cache/webpack/0.pack",
    ".claude/worktrees/fix/src/app.py",
    "sub/.claude/worktrees/fix/src/app.py",
    "sub/.yarn/cache/lodash.zip",
    ".DS_Store",
    "deep/er/.DS_Store",
    ".nfs000000000123abcd00000001",
    ".hg/store/00changelog.i",
]

# Written by a person, or the only copy of something: git's own ignore rules may catch them, and
# then the size rule decides, but they are never skipped for their name alone.
PRECIOUS = [
    ".env",
    ".envrc",
    "sub/.env/notes",
    "build/main.js",
    "dist/index.js",
    "target/doc.md",
    "out/report.txt",
    "vendor/lib/patched.go",
    "bin/deploy",
    "obj/model.obj",
    "lib/util.rb",
    "env/settings.py",
    "venv/__init__.py",
    "deps/patched.ex",
    "packages/core/index.ts",
    "coverage/plugin.py",
    "logs/app.log",
    "tmp/notes.md",
    "temp/notes.md",
    "Library/Books.cs",
    "Pods/pod.yaml",
    ".build/pipeline.yml",
    ".conda/meta.yaml",
    ".vscode/settings.json",
    ".idea/runConfigurations/app.xml",
    ".vs/launch.vs.json",
    ".claude/settings.local.json",
    ".claude/commands/worktrees.md",
    ".agent/notes.md",
    ".factory/droids/reviewer.md",
    ".yarn/releases/yarn-4.cjs",
    ".yarn/patches/react.patch",
    ".cargo/config.toml",
    ".pixi/config.toml",
    ".nx/settings.json",
    ".bundle/config",
    ".clj-kondo/config.edn",
    ".wrangler/state/v3/d1/db.sqlite",
    ".devenv/state/postgres/base/1",
    ".vagrant/machines/default/id",
    ".dvc/cache/ab/cdef",
    ".ipynb_checkpoints/analysis-checkpoint.ipynb",
    ".benchmarks/0001_before.json",
    ".history/main.py",
    ".main.py.swp",
    "main.py~",
    "main.py.orig",
    "main.py.rej",
    "terraform.tfstate",
    "terraform.tfstate.d/prod/terraform.tfstate",
    "data.sqlite-wal",
    "notes.bak",
    "package-lock.json",
    "nfs.txt",
    ".nfsrc",
    "node_modules.md",
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".git" / "info" / "exclude").write_bytes(builtin_ignore_patterns())
    return root


def ignored(root: Path, paths: list[str]) -> set[str]:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin"],
        cwd=root, input="\n".join(paths), capture_output=True, text=True, check=False)
    assert not done.stderr
    return set(done.stdout.splitlines())


def test_what_can_be_made_again_is_never_captured_at_any_depth(repository: Path) -> None:
    assert ignored(repository, CAN_BE_MADE_AGAIN) == set(CAN_BE_MADE_AGAIN)


def test_what_a_person_may_have_written_is_not_on_the_list(repository: Path) -> None:
    assert ignored(repository, PRECIOUS) == set()


def test_every_pattern_has_a_reason_and_a_category_and_is_there_once() -> None:
    data = json.loads(Path(LIST_FILE).read_text())
    assert data["format"] == 1
    assert all(list(entry) == ["pattern", "why", "category"] and all(entry.values())
               for entry in data["patterns"])
    patterns = [entry["pattern"] for entry in data["patterns"]]
    assert len(set(patterns)) == len(patterns)


def test_patterns_hold_at_any_depth_and_take_nothing_back() -> None:
    for pattern in builtin_ignore_patterns().decode().splitlines():
        assert not pattern.startswith(("!", "#", "/", " "))
        # A slash in the middle anchors a pattern to the top unless it begins with `**/`.
        assert "/" not in pattern.rstrip("/") or pattern.startswith("**/")
