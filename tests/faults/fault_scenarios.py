"""The commands that change files, each with the state in which it starts and what it may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Optional

from fault_world import World


def _nothing(world: World) -> None:
    pass


class Scenario(NamedTuple):
    name: str
    args: tuple[str, ...]  # `{manual}` is the checkpoint or fork with this mark
    setup: Callable[[World], None] = _nothing
    moves: bool = False  # the project's files change
    rewrites: bool = False  # the transcript changes
    collects: bool = False  # checkpoints are removed
    settles: str = "again"  # how the fault is repaired: `again`, `undo` (or again), `event` (of a hook)
    again: tuple[int, ...] = (0,)  # exit codes of a repetition, because the work may have been done already
    hook: Optional[str] = None  # the event; `args` is the action then
    protected: bool = True
    changes_home: bool = False  # settings of the agent and installed files change
    thin: int = 0  # how many of thousands of similar calls are tried for each kind; 0 means all

    def command(self, world: World) -> list[str]:
        if self.hook:
            return world.hook_command(*self.args)
        return [*world.rewind.command, *self.arguments(world)]

    def arguments(self, world: World) -> list[str]:
        marks = {key.replace(" ", "_"): name for key, name in world.marks.items()}
        return [arg.format(top=world.top, **marks) for arg in self.args]

    def stdin(self, world: World) -> bytes:
        if not self.hook:
            return b""
        more = {"tool_name": "Edit", "tool_use_id": "toolu_torture", "source": "startup", "tool_input": {
            "file_path": str(world.project / "huge.log"), "old_string": "a", "new_string": "b" * 200}}
        return world.payload(self.hook, prompt_id="4d1f8a52-0000-4000-8000-000000000004", **more)

    @property
    def is_step(self) -> bool:
        """A step of the history, which `undo-restore` can undo."""
        return self.settles == "undo"


# setups

def _archive_format(world: World) -> None:
    world.rewind.ok("config", "--set", "storage.format=archive")


def _more_checkpoints(world: World) -> None:
    for number in range(2):
        (world.project / "fresh.txt").write_text(f"number {number}\n" * 2000)
        world.mark(f"extra {number}", world.rewind.save(f"extra {number}"))
    world.spoil()


def _restored(world: World) -> None:
    world.rewind.ok("restore", world.marks["manual"], "--force")


def _restored_in_place(world: World) -> None:
    world.rewind.ok("back", "1", "--both", "--in-place", "--force")


def _taken_back(world: World) -> None:
    _restored(world)
    world.rewind.ok("undo-restore", "--force")


def _taken_back_in_place(world: World) -> None:
    _restored_in_place(world)
    world.rewind.ok("undo-restore", "--force")


def _saved(world: World) -> None:
    world.mark("now", world.rewind.save("now"))


def _forked(world: World) -> None:
    world.marks["fork"] = world.rewind.json("back", "1")["fork"]["session_id"]


def _fork_deleted(world: World) -> None:
    _forked(world)
    world.rewind.ok("forks", "delete", world.marks["fork"])


def _droid(world: World) -> None:
    """A session of Droid with its settings file."""
    world.droid_session()


def _exported(world: World) -> None:
    world.rewind.ok("export", world.marks["manual"], str(world.out / "given.tar.gz"))


def _huge_ignored(world: World) -> None:
    (world.project / "huge.log").write_bytes(b"ignored, and too large to be captured\n" * 40_000)


def _wide(world: World) -> None:
    """Enough directories for a walk with two processes."""
    for number in range(60):
        folder = world.project / "wide" / str(number % 6) / str(number)
        folder.mkdir(parents=True)
        (folder / "file").write_text(f"{number}\n")


def _bulk(world: World) -> None:
    """Enough data to be stored uncompressed first and compressed later by a detached process."""
    (world.project / "bulk.bin").write_bytes(b"".join(b"%d\n" % n for n in range(1_300_000)))


def _installed(world: World) -> None:
    world.rewind.ok("install", "--yes", "--no-ui")


SCENARIOS = (
    Scenario("save", ("save", "torture")),
    Scenario("save (archive)", ("save", "torture"), _archive_format),
    Scenario("save (wide tree)", ("save", "torture"), _wide),
    Scenario("save (bulk, then packing)", ("save", "torture"), _bulk, thin=12),
    Scenario("hook: prompt", ("user-prompt-submit",), hook="UserPromptSubmit", settles="event"),
    Scenario("hook: edit of an unprotected file", ("pre-tool-use",), _huge_ignored, hook="PreToolUse",
             settles="event"),
    Scenario("hook: first session", ("session-start",), hook="SessionStart", settles="event",
             protected=False),
    Scenario("restore", ("restore", "{manual}", "--force"), moves=True, settles="undo"),
    Scenario("restore --code-only", ("restore", "{initial}", "--code-only", "--force"), moves=True,
             settles="undo"),
    Scenario("restore -- PATH", ("restore", "{initial}", "--code-only", "--force", "--", "src", "kind"),
             moves=True, settles="undo"),
    Scenario("restore --context-only", ("restore", "{manual}", "--context-only", "--force"), settles="undo"),
    Scenario("restore --in-place", ("restore", "{manual}", "--in-place", "--force"), moves=True,
             rewrites=True, settles="undo"),
    Scenario("revert", ("revert", "{initial}..{manual}", "--theirs", "--force"), moves=True, settles="undo"),
    Scenario("undo", ("undo", "--force"), _saved, moves=True, settles="undo"),
    Scenario("undo-restore", ("undo-restore", "--force"), _restored, moves=True, again=(0, 12)),
    Scenario("undo-restore (in place)", ("undo-restore", "--force"), _restored_in_place, moves=True,
             rewrites=True, again=(0, 12)),
    Scenario("redo", ("redo", "--force"), _taken_back, moves=True, again=(0, 12)),
    Scenario("redo (in place)", ("redo", "--force"), _taken_back_in_place, moves=True, rewrites=True,
             again=(0, 12)),
    Scenario("back", ("back", "1"), settles="undo"),
    Scenario("back (Droid)", ("back", "1", "--session", "{droid}"), _droid, settles="undo"),
    Scenario("back --both", ("back", "2", "--both", "--force"), moves=True, settles="undo"),
    Scenario("back --in-place", ("back", "1", "--in-place", "--force"), rewrites=True, settles="undo"),
    Scenario("back --both --in-place", ("back", "2", "--both", "--in-place", "--force"), moves=True,
             rewrites=True, settles="undo"),
    Scenario("gc", ("gc", "--keep", "2"), _more_checkpoints, collects=True),
    Scenario("export", ("export", "{manual}", "{top}/out/torture.tar.gz", "--force")),
    Scenario("import", ("import", "{top}/out/given.tar.gz"), _exported),
    Scenario("forks delete", ("forks", "delete", "{fork}"), _forked, settles="undo", again=(0, 1, 12)),
    Scenario("forks undelete", ("forks", "undelete", "{fork}"), _fork_deleted, settles="undo",
             again=(0, 1, 12)),
    Scenario("forks rename", ("forks", "rename", "{fork}", "another name"), _forked, settles="undo"),
    Scenario("config", ("config", "--set", "storage.maxSizeMb=512")),
    Scenario("init", ("init",), protected=False),
    Scenario("install", ("install", "--yes", "--no-ui"), protected=False, changes_home=True, thin=3),
    Scenario("uninstall", ("uninstall", "--yes"), _installed, protected=False, changes_home=True, thin=3),
)


def scenario(name: str) -> Scenario:
    return next(one for one in SCENARIOS if one.name == name)
