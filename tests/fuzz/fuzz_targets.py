"""What is spoiled, and which commands must live with it. Each is given a generator and a fresh world."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz.fuzz_mutate import STRANGE_TEXTS, spoil, spoil_bytes, spoil_json
from fuzz.fuzz_world import World

_READERS = (
    ("list",),
    ("list", "--all", "--json"),
    ("show", "last"),
    ("diff", "last"),
    ("status",),
    ("log", "src"),
    ("validate",),
    ("sessions", "list"),
    ("sessions", "show", "--json"),
    ("forks", "list"),
    ("grep", "number"),
    ("back", "1", "--dry-run"),
    ("gc", "--dry-run"),
    ("revert", "t1", "--dry-run"),
    ("undo-restore", "--dry-run"),
    ("config",),
    ("doctor",),
    ("cat", "last:src/file0.py"),
)
_WRITERS = (
    ("save", "after"),
    ("restore", "2", "--force"),
    ("undo-restore", "--force"),
    ("redo", "--force"),
    ("back", "1"),
    ("back", "1", "--both", "--force"),
    ("gc",),
    ("validate", "--deep"),
    ("validate", "--deep", "--repair", "--yes"),
    ("forks", "list", "--json"),
    ("undo", "--force"),
    ("revert", "last", "--theirs", "--force"),
    ("apply", "t1", "--markers", "--force"),
    ("init",),
)
_WORDS = (
    "list",
    "save",
    "restore",
    "back",
    "show",
    "diff",
    "log",
    "cat",
    "grep",
    "sessions",
    "forks",
    "gc",
    "export",
    "import",
    "status",
    "validate",
    "config",
    "undo",
    "redo",
    "undo-restore",
    "rewrite-chat",
    "revert",
    "apply",
    "t1",
    "t1..t2",
    "last..1",
    "--markers",
    "--theirs",
    "--from",
    "completion",
    "help",
    "doctor",
    "init",
    "__complete",
    "bash",
    "last",
    "prev",
    "1",
    "2",
    "0",
    "-1",
    "99999",
    "--json",
    "--dry-run",
    "--force",
    "--all",
    "--both",
    "--in-place",
    "--code-only",
    "--context-only",
    "--session",
    "-C",
    "--",
    "src",
    "src/file0.py",
    ".",
    "..",
    "/",
    "--set",
    "tier=off",
    "=",
    "--help",
    "-q",
    "-v",
    "--deep",
    "-",
    "--no-pager",
    "show",
    "delete",
    "rename",
    "promote",
    "undelete",
    "last:src/file1.py",
    ":",
    "last:",
)


def _some_commands(rng: Random, world: World) -> None:
    for argv in (*rng.sample(_READERS, 4), *rng.sample(_WRITERS, 2), ("list",), ("save", "once more")):
        world.run(*argv)


def _spoil_file(rng: Random, path: Path, how: Callable[[Random, bytes], bytes] = spoil) -> None:
    path.write_bytes(how(rng, path.read_bytes()))


def state_files(rng: Random, world: World) -> None:
    """`metadata.json`, histories, pins, branches, settings: every small file of ours."""
    ours = [
        p
        for p in (*world.state.rglob("*"), *(world.home / ".rewind").rglob("*"))
        if p.is_file() and not p.is_symlink() and ".db" not in p.name
    ]
    for path in rng.sample(ours, rng.choice((1, 1, 2))):
        _spoil_file(rng, path)
    _some_commands(rng, world)


def databases(rng: Random, world: World) -> None:
    """Pages of SQLite with flipped bits, or cut off."""
    _spoil_file(rng, rng.choice([p for p in world.state.iterdir() if ".db" in p.name]), spoil_bytes)
    _some_commands(rng, world)


def settings(rng: Random, world: World) -> None:
    """Rewind's configuration, and the agents' settings that hooks are written to."""
    config = rng.choice((world.state / "config.json", world.home / ".rewind" / "config.json"))
    agent = world.home / ".claude" / "settings.json"
    text = config.read_bytes() if config.exists() else b'{"tier": "smart", "storage": {"maxSizeMb": 100}}'
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_bytes(spoil(rng, text))
    agent.write_bytes(
        spoil(
            rng,
            json.dumps(
                {
                    "hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "true"}]}]},
                    "model": "a",
                }
            ).encode(),
        )
    )
    world.run("config", "--register-hooks")
    world.run("config", "--unregister-hooks")
    world.run("doctor")
    world.run(
        "config",
        "--set",
        rng.choice(("tier=off", "ignored=all", "nothing=1", "tier=", "=x", "storage.maxSizeMb=-1")),
    )
    _some_commands(rng, world)


def archives(rng: Random, world: World) -> None:
    raw = world.archive.read_bytes()
    if rng.random() < 0.7:  # inside, where the tar is
        raw = gzip.compress(spoil_bytes(rng, gzip.decompress(raw)), 1)
    else:
        raw = spoil_bytes(rng, raw)
    world.archive.write_bytes(raw)
    world.run("import", str(world.archive), "--dry-run")
    world.run("import", str(world.archive))
    world.run("restore", "last", "--force")
    world.run("validate", "--deep")


def transcripts(rng: Random, world: World) -> None:
    path = world.transcript
    lines = path.read_bytes().split(b"\n")
    for _ in range(rng.choice((1, 2, 5))):
        at = rng.randrange(len(lines))
        lines[at] = spoil_json(rng, lines[at]) if rng.random() < 0.6 else spoil_bytes(rng, lines[at])
    if rng.random() < 0.2:
        rng.shuffle(lines)
    path.write_bytes(b"\n".join(lines))
    original = path.read_bytes()
    for argv in (
        ("sessions", "list"),
        ("sessions", "show", path.stem),
        ("back", "1", "--session", path.stem),
        ("back", "2", "--both", "--force"),
        ("save", "x"),
        ("grep", "Prompt"),
        ("forks", "list"),
        ("sessions", "show", "--json", path.stem),
    ):
        world.run(*argv)
    assert path.read_bytes() == original, "the transcript itself was written to"


def hook_payloads(rng: Random, world: World) -> None:
    from hook_scene import ACTIONS, recorded  # pytest wants to have seen it first

    case = rng.choice(recorded())
    payload = json.dumps(case.payload(world.home, world.project)).encode()
    for _ in range(4):
        other = rng.choice(sorted(ACTIONS.values()))
        world.hook(rng.choice((ACTIONS.get(case.event, other), other)), spoil(rng, payload))
    world.run("list")


def ignore_files(rng: Random, world: World) -> None:
    pieces = (
        b"*",
        b"**",
        b"/",
        b"!",
        b"\\",
        b"[",
        b"]",
        b"[!a-",
        b"[[:alpha:]]",
        b"?",
        b" ",
        b"#",
        b"\t",
        b"a",
        b"src",
        b"\xff",
        b"\r",
        b"\0",
        b"{a,b}",
        b"file0.py",
        b"..",
        b"*.log",
    )
    for place in (world.project, world.project / "src"):
        text = b"\n".join(
            b"".join(rng.choice(pieces) for _ in range(rng.randrange(12))) for _ in range(rng.randrange(40))
        )
        (place / rng.choice((".gitignore", ".rewindignore", ".gitignore"))).write_bytes(text)
    before = {
        p: p.read_bytes()
        for p in world.project.rglob("*")
        if p.is_file() and ".agent" not in p.parts and ".git" not in p.parts
    }
    world.run("save", "with odd rules")
    world.run("restore", "prev", "--force")
    world.run("undo-restore", "--force")
    after = {p: p.read_bytes() for p in before if p.exists()}
    assert after == before, "there and back again, a file is missing or another"


def arguments(rng: Random, world: World) -> None:
    for _ in range(12):
        argv = [
            rng.choice(_WORDS) if rng.random() < 0.85 else rng.choice(STRANGE_TEXTS)
            for _ in range(rng.randrange(1, 7))
        ]
        if argv[0] in ("-C", "-q", "-v") or not _has_terminal_ui(argv):
            world.run(*argv)


def _has_terminal_ui(argv: list[str]) -> bool:
    return any(word in ("ui", "tui", "watch", "demo", "install", "uninstall") for word in argv)


TARGETS: dict[str, Callable[[Random, World], None]] = {
    "state files": state_files,
    "databases": databases,
    "settings": settings,
    "archives": archives,
    "transcripts": transcripts,
    "hook payloads": hook_payloads,
    "ignore files": ignore_files,
    "arguments": arguments,
}


def run_case(target: str, seed: int, world: World) -> None:
    world.make_anew()
    TARGETS[target](Random(f"{target} {seed}"), world)
    world.check_outside()
