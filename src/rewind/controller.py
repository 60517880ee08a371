"""The one door for every user interface and for Python users.

    from rewind import Controller

    project = Controller("path/to/project")
    name = project.save("before the refactoring").record.name
    project.restore(name)
"""

from __future__ import annotations

import os
import sys

from rewind.checkpoint.project.identity import update_index_and_marker
from rewind.checkpoint.project.state import DAMAGE_FILE, State

# What saves, goes back and cleans up is loaded by the methods that do so: `list` needs none of it.
from rewind.checkpoint.rewind.target import (
    BOTH,
    CODE,
    CONVERSATION,
    Adopted,
    Applied,
    AtCheckpoint,
    AtTurn,
    BeforeFork,
    BeforeOperation,
    BeforePrompts,
    BeforeUndo,
    BroughtBack,
    EarlierOnLine,
    Reverted,
    Target,
)
from rewind.errors import NoParent, NotInitialised, RewindError, SessionNotFound, TurnRunning
from rewind.paths import Project, current_dir, find_project, rewind_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Set
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO

    from rewind.agents.registry import hooks_home
    from rewind.checkpoint.changes.difference import Difference, Side
    from rewind.checkpoint.changes.turn_changes import ChangedFile, Changes
    from rewind.checkpoint.conversations.deleted_by_agent import KeptConversation
    from rewind.checkpoint.conversations.session_tree import SessionInfo, as_tree
    from rewind.checkpoint.futures import shape as lane_shape
    from rewind.checkpoint.futures.known.lane import Lane
    from rewind.checkpoint.futures.make import Future
    from rewind.checkpoint.futures.run import Ran
    from rewind.checkpoint.map.by_session import (
        CHECKPOINT,
        EDIT,
        LANE,
        NOW,
        OPERATION,
        PROMPT,
        SESSION,
        ProjectMap,
    )
    from rewind.checkpoint.map.compare_sessions import Compared
    from rewind.checkpoint.map.session_graph import NativeRewind
    from rewind.checkpoint.map.session_shape import SessionShape, seconds_between
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.map.turn_views import TurnPage
    from rewind.checkpoint.operation_log.lineage import Lineage
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.project.all_projects import all_projects
    from rewind.checkpoint.project.damage import MissingContent
    from rewind.checkpoint.project.init import check_root
    from rewind.checkpoint.project.missed import Missed
    from rewind.checkpoint.records.outside import kept_outside
    from rewind.checkpoint.records.record import Record, Trigger, is_name, is_timestamp, iso_time, timestamp
    from rewind.checkpoint.records.source import Source
    from rewind.checkpoint.records.timeline import Brief, brief
    from rewind.checkpoint.records.torn import torn_paths
    from rewind.checkpoint.remote.known import Remote
    from rewind.checkpoint.remote.pull.clone import Cloned, folder_for, look_at_clone
    from rewind.checkpoint.remote.pull.pull import Pulled
    from rewind.checkpoint.remote.push.push import Pushed
    from rewind.checkpoint.remote.status import Statuses
    from rewind.checkpoint.remote.url import checked_url, shown_url
    from rewind.checkpoint.repair.check_records import Examined
    from rewind.checkpoint.repair.repair import Repaired
    from rewind.checkpoint.rewind.conversation.forks import Deleted
    from rewind.checkpoint.rewind.files.git_since import GitSince
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.save.save import Saved
    from rewind.checkpoint.search.code import CodeFound
    from rewind.checkpoint.search.file_heat import Heat
    from rewind.checkpoint.search.file_log import LogEntry
    from rewind.checkpoint.select.code_at import CodeAt
    from rewind.checkpoint.select.last_prompt import LastPrompt
    from rewind.checkpoint.select.prompts import Found
    from rewind.checkpoint.select.selected import Selected
    from rewind.checkpoint.select.turn_name import split_selector, turn_name
    from rewind.checkpoint.share.export_import import Exported
    from rewind.checkpoint.share.giving.give import Sharing
    from rewind.checkpoint.share.taking.open_shared import Opened
    from rewind.checkpoint.status import Status
    from rewind.checkpoint.turns.bisect.bisect import Bisected
    from rewind.checkpoint.turns.bisect.log import read_log
    from rewind.checkpoint.turns.blame.blame import Blame
    from rewind.checkpoint.turns.commit.commit import Commits
    from rewind.checkpoint.upkeep.collection import Collected
    from rewind.config.edit import set_value, unset_value
    from rewind.config.load import CONFIG_FILE, Settings, load_tier, load_usable
    from rewind.config.settings import BY_KEY, GROUPS, unknown
    from rewind.config.strictjson import invalid
    from rewind.snapshot.archive.portable import Imported
    from rewind.snapshot.diff import compare as comparing
    from rewind.snapshot.diff.compare import Comparison, compare
    from rewind.snapshot.diff.patch import comparisons, describe_sizes, hunk_lines, patch_lines
    from rewind.snapshot.diff.rename import find_renames
    from rewind.snapshot.diff.textdiff import hunks, is_binary
    from rewind.snapshot.rules.reason_codes import Reasons
    from rewind.snapshot.scan.build import Progress, Snapshot
    from rewind.snapshot.trees.content import pieces_of
    from rewind.snapshot.trees.fold import fold
    from rewind.snapshot.trees.listing import entry_at, every_path
    from rewind.snapshot.trees.tree import DIR, LINK, UNCOVERED, TreeEntry
    from rewind.transcript.find import SessionFile
    from rewind.transcript.names import is_session_id
    from rewind.transcript.read.index import SessionIndex, read_index
    from rewind.transcript.read.titles import plain_title
    from rewind.transcript.turns.turn_blocks import TurnText
    from rewind.transcript.turns.turn_figures import TurnFigures
    from rewind.transcript.turns.turn_index import TurnIndex
    from rewind.transcript.turns.turn_pages import Match
    from rewind.transcript.turns.turn_tools import TurnTools
    from rewind.transcript.turns.turn_tree import Row


__all__ = [
    "BOTH", "BY_KEY", "CHECKPOINT", "CODE", "CONFIG_FILE", "CONVERSATION", "DIR", "EDIT", "GROUPS", "LANE",
    "LINK", "NOW", "OPERATION", "PROMPT", "SESSION", "UNCOVERED", "Adopted", "Applied", "AtCheckpoint",
    "AtTurn", "BeforeFork", "BeforeOperation", "BeforePrompts", "BeforeUndo", "BroughtBack", "Controller",
    "Difference", "EarlierOnLine", "Reasons", "Reverted", "Side", "all_projects", "as_tree", "brief",
    "check_root", "checked_url", "compare", "comparing", "comparisons", "describe_sizes", "entry_at",
    "every_path", "find_renames", "fold", "folder_for", "hooks_home", "hunk_lines", "hunks", "invalid",
    "is_binary", "is_name", "is_session_id", "is_timestamp", "iso_time", "kept_outside", "lane_shape",
    "load_tier", "load_usable", "look_at_clone", "patch_lines", "pieces_of",
    "plain_title", "read_index", "read_log", "seconds_between", "set_value", "shown_url", "split_selector",
    "timestamp", "torn_paths", "turn_name", "unknown", "unset_value",
]

# What interfaces may use of the rooms below besides a project: functions without side effects, settings, and
# words for kinds. Each is loaded when it is asked for.
_PASSES = {
    "rewind.agents.registry": ("hooks_home",),
    "rewind.checkpoint.project.all_projects": ("all_projects",),
    "rewind.checkpoint.project.init": ("check_root",),
    "rewind.checkpoint.records.outside": ("kept_outside",),
    "rewind.checkpoint.records.record": ("is_name", "is_timestamp", "iso_time", "timestamp"),
    "rewind.checkpoint.remote.pull.clone": ("folder_for", "look_at_clone"),
    "rewind.checkpoint.remote.url": ("checked_url", "shown_url"),
    "rewind.checkpoint.map.session_shape": ("seconds_between",),
    "rewind.checkpoint.conversations.session_tree": ("as_tree",),
    "rewind.checkpoint.changes.difference": ("Difference", "Side"),
    "rewind.checkpoint.map.by_session": (
        "CHECKPOINT", "EDIT", "LANE", "NOW", "OPERATION", "PROMPT", "SESSION"),
    "rewind.checkpoint.records.timeline": ("brief",),
    "rewind.checkpoint.records.torn": ("torn_paths",),
    "rewind.checkpoint.select.turn_name": ("split_selector", "turn_name"),
    "rewind.checkpoint.turns.bisect.log": ("read_log",),
    "rewind.config.edit": ("set_value", "unset_value"),
    "rewind.config.load": ("CONFIG_FILE", "load_tier", "load_usable"),
    "rewind.config.settings": ("BY_KEY", "GROUPS", "unknown"),
    "rewind.config.strictjson": ("invalid",),
    "rewind.snapshot.diff.compare": ("compare",),
    "rewind.snapshot.trees.content": ("pieces_of",),
    "rewind.snapshot.trees.fold": ("fold",),
    "rewind.snapshot.diff.patch": ("comparisons", "describe_sizes", "hunk_lines", "patch_lines"),
    "rewind.snapshot.diff.rename": ("find_renames",),
    "rewind.snapshot.trees.listing": ("entry_at", "every_path"),
    "rewind.snapshot.rules.reason_codes": ("Reasons",),
    "rewind.snapshot.diff.textdiff": ("hunks", "is_binary"),
    "rewind.snapshot.trees.tree": ("DIR", "LINK", "UNCOVERED"),
    "rewind.transcript.read.index": ("read_index",),
    "rewind.transcript.names": ("is_session_id",),
    "rewind.transcript.read.titles": ("plain_title",),
}
_MODULES = {"comparing": "rewind.snapshot.diff.compare", "lane_shape": "rewind.checkpoint.futures.shape"}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _load(_MODULES[name])
    for module, names in _PASSES.items():
        if name in names:
            return getattr(_load(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _load(module: str) -> object:
    """Without `importlib`, which brings `warnings` along: a twentieth of a bare start, in every command."""
    __import__(module)
    return sys.modules[module]


class Controller:
    def __init__(self, project: str | None = None, *, home: str | None = None,
                 forgiving: bool = False) -> None:
        """Open the project at or above a directory; `REWIND_PROJECT_ROOT` or the current one.

        `forgiving` opens it although a configuration file has problems, which then do not count.
        """
        found = _project_named(project, home) if project else _project_here(home)
        if found is None:
            start = project or os.environ.get("REWIND_PROJECT_ROOT") or current_dir()
            raise NotInitialised(path=os.path.abspath(start))
        self.state = State(found, forgiving=forgiving)
        self.notice = update_index_and_marker(found, self.state.store_info["id"])

    @classmethod
    def init(cls, root: str, *, mode: str | None = None, trust: bool = False,
             home: str | None = None, progress: Progress | None = None) -> tuple[Controller, Saved | None]:
        """Protect a directory. The first checkpoint is made unless there is one already."""
        from rewind.checkpoint.project.init import init_project

        home = home or rewind_home()
        state, _ = init_project(root, home, mode or cls.mode_for(root, home=home), trust)
        controller = cls._of(state)
        if state.timeline.newest_here() is not None:
            return controller, None
        return controller, controller.save("First checkpoint", kind="initial", progress=progress)

    @staticmethod
    def mode_for(root: str, *, home: str | None = None) -> str:
        """Where `init` would keep the checkpoints of a directory: "global" or "project"."""
        from rewind.checkpoint.project.init import wanted_mode
        from rewind.config.load import load_settings

        return wanted_mode(load_settings(home or rewind_home(), None), os.path.realpath(root))

    @classmethod
    def _of(cls, state: State) -> Controller:
        controller = cls.__new__(cls)
        controller.state, controller.notice = state, ""
        return controller

    def _locked(self, what: str, wait: float = 10.0, *,
                all_places: bool = False) -> AbstractContextManager[None]:
        from rewind.checkpoint.project.locked import locked

        return locked(self.state, what, wait, all_places=all_places)

    def close(self) -> None:
        self.state.close()

    @property
    def _fresh(self) -> State:
        """The state, with what other processes have written since the last look."""
        self.state.refresh()
        return self.state

    @property
    def project(self) -> Project:
        return self.state.project

    # checkpoints

    def save(self, description: str = "", *, kind: str = "manual", if_changed: bool = False,
             trigger: Trigger | None = None, session: SessionFile | None = None,
             wait: float = 10.0, progress: Progress | None = None) -> Saved:
        """A checkpoint of the code and of the conversation: that of `session`, else the current one."""
        from rewind.checkpoint.save.save import save

        return save(self.state, description, kind=kind, if_changed=if_changed, trigger=trigger,
                    session=session, wait=wait, progress=progress)

    def list_checkpoints(self, *, backups: bool = False, session: str | None = None) -> list[Record]:
        """Newest first. Without `backups`, of these only the one that the project stands on."""
        current, timeline = self.here(), self.state.timeline
        records = list(reversed(timeline.all())) if backups else timeline.shown(current)
        return [r for r in records if not session or (r.session or "").startswith(session)]

    def names(self, known: Set[str] = frozenset()) -> set[str]:
        """The names of checkpoints that are not `known`. One without a record is being made just now: it
        comes with one of the next looks."""
        from rewind.checkpoint.records.record import is_name

        files = self.state.files
        try:
            names = os.listdir(files.folder)
        except FileNotFoundError:
            return set()
        return {name for name in names if name not in known and is_name(name) and files.stamp(name)}

    def latest_sessions(self, since: float = 0.0) -> Iterator[SessionFile]:
        """Transcripts that were written since then; the others are not even opened."""
        from rewind.transcript.find import latest_sessions

        return latest_sessions(self.state.area(), home=self.project.home, since=since)

    def turns_of(self, session: SessionFile) -> TurnIndex:
        from rewind.transcript.turns.turn_index import open_turns

        return open_turns(session.path, session.profile, self.state.derived)

    def is_fork(self, session: SessionFile, index: TurnIndex) -> bool:
        return bool(index.parent_session or self.state.forks().find(session.session_id))

    def missed(self) -> Missed:
        """What hooks should have made and did not, or have not made yet."""
        from rewind.checkpoint.project.missed import Missed

        return Missed(self.project)

    def damaged(self) -> dict[str, RewindError]:
        """The checkpoints whose records could not be read when they were last listed."""
        return self.state.timeline.damaged

    def row_changes(self, records: list[Record], patience: float) -> dict[str, Changes]:
        """What changed with each checkpoint since its parent, as far as that is found out in time."""
        from rewind.checkpoint.changes.turn_changes import row_changes

        return row_changes(self.state, records, patience)

    def turn_map(self, *, backups: bool = False, session: str | None = None,
                 everywhere: bool = False) -> list[MapRow]:
        """Turns, edits by hand, manual checkpoints and operations, newest first."""
        from rewind.checkpoint.map.turn_map import turn_map

        return turn_map(self._fresh, backups=backups, session=session, everywhere=everywhere)

    def add_map_facts(self, rows: list[MapRow], patience: float) -> int:
        """Which turns they are and what changed; how many could not be counted within `patience` seconds."""
        from rewind.checkpoint.map.facts import add_changes, add_turns

        add_turns(self.state, rows)
        return add_changes(self.state, rows, patience)

    def checkpoints_touching(self, records: list[Record], paths: list[bytes]) -> list[Record]:
        """Those of the checkpoints with which one of these paths changed."""
        from rewind.checkpoint.search.file_log import checkpoints_touching

        return checkpoints_touching(self.state, records, paths)

    def who_changed(self, old: str, new: str) -> dict[bytes, list[str]]:
        """Who changed each path on the way from one checkpoint to a later one: tools, shell commands, you."""
        from rewind.checkpoint.map.changed_by import who_changed

        return who_changed(self.state, old, new)

    def tools_of(self, row: MapRow) -> TurnTools:
        """The tools that a turn used."""
        from rewind.checkpoint.map.changed_by import tools_of

        return tools_of(self.state, row)

    def touching(self, rows: list[MapRow], paths: list[bytes]) -> list[MapRow]:
        """Those of the rows that changed one of these paths."""
        from rewind.checkpoint.search.file_log import touching

        return touching(self.state, rows, paths)

    def changes_with(self, record: Record) -> Changes | None:
        """The same for one of them; None where it has no parent any more."""
        from rewind.checkpoint.changes.turn_changes import changes_between

        parent = self.lineage().parent(record.name)
        return changes_between(self.state, parent, record) if parent else None

    def git_since(self, record: Record) -> GitSince | None:
        """How the user's git repository moved since a checkpoint; None where there is none."""
        from rewind.checkpoint.rewind.files.git_since import git_since

        return git_since(self.state, record)

    def last_prompt(self, record: Record) -> LastPrompt | None:
        """The prompt that a checkpoint was made after."""
        from rewind.checkpoint.select.last_prompt import LastPrompts

        return LastPrompts(self.state).before(record) if record.data.get("hasTranscript") else None

    def extent(self) -> tuple[int, str | None]:
        """How many checkpoints there are, and the last name; costs no more than a look at the directory."""
        return self.state.files.extent()

    def list_briefs(self, *, backups: bool = False, session: str | None = None) -> list[Brief]:
        """The same, with no more of each than a list shows, which is much faster where there are many."""
        current, timeline = self.here(), self.state.timeline
        name = current.name if current else ""
        return [b for b in timeline.briefs()
                if (backups or (b.kind != "backup" and timeline.belongs_here(b)) or b.name == name)
                and (not session or (b.session or "").startswith(session))]

    def find(self, text: str) -> Record:
        """A checkpoint by its name or number, or by any other selector."""
        return self.select(text).record

    def select(self, text: str) -> Selected:
        """The same, with a remark where it is only near to what was asked for."""
        from rewind.checkpoint.select.selectors import selected

        return selected(self._fresh, text)

    def select_turn(self, text: str) -> tuple[SessionFile, int]:
        """A turn by its number (`t4`, `SESSION:t4`) or by text of its prompt: its session and its number."""
        from rewind.checkpoint.select.selectors import select_turn

        return select_turn(self._fresh, text)

    def source(self, record: Record) -> Source:
        """The content of a checkpoint, to be used in a `with` statement."""
        from rewind.checkpoint.records.source import Source

        return Source(self.state, record)

    # going back

    def plan(self, target: Target, what: str = "both", *, in_place: bool = False, skip_missing: bool = False,
             name: str = "", force: bool = False, outside: bool = False) -> Plan:
        """What going to a target would do; nothing is written. `what` is "code", "conversation" or "both",
        `name` that of the fork; `force` plans a redo although it would replace unsaved edits; `outside`
        brings back files outside the project."""
        from rewind.checkpoint.rewind.plan import make_plan
        from rewind.checkpoint.rewind.target import Request

        plan = make_plan(self._fresh, Request(target, what, in_place=in_place, skip_missing=skip_missing,
                                             name=name, outside=outside), force=force)
        if plan.code and plan.record and plan.code.changes:
            from rewind.checkpoint.map.changed_by import edited_since

            plan.code.mine = edited_since(self.state, plan.record.name)
        return plan

    def preview(self, target: Target, path: bytes, what: str = "code") -> Comparison | None:
        """What the plan of a target would do to one path; None: nothing."""
        from rewind.checkpoint.rewind.plan import preview
        from rewind.checkpoint.rewind.target import Request

        return preview(self._fresh, Request(target, what), path)

    def apply(self, plan: Plan, *, force: bool = False, progress: Progress | None = None) -> Outcome:
        """Do what a plan says; refuses when it would be another one now, unless forced."""
        from rewind.checkpoint.rewind.apply import apply

        return apply(self.state, plan.request, shown=plan, force=force, progress=progress)

    def go(self, target: Target, what: str = "both", *, in_place: bool = False, skip_missing: bool = False,
           name: str = "", digest: str = "", force: bool = False, outside: bool = False,
           progress: Progress | None = None) -> Outcome:
        """Go to a target at once. With the `digest` of a plan that was shown elsewhere, refuses as `apply`
        does."""
        from rewind.checkpoint.rewind.apply import apply
        from rewind.checkpoint.rewind.target import Request

        request = Request(target, what, in_place=in_place, skip_missing=skip_missing, name=name,
                          outside=outside)
        return apply(self.state, request, digest=digest, force=force, progress=progress)

    def restore(self, name: str, *, mode: str = "both", paths: list[bytes] | None = None,
                in_place: bool = False, force: bool = False, skip_missing: bool = False,
                progress: Progress | None = None) -> Outcome:
        """Bring back a checkpoint: the code, the conversation or both. Of one that is damaged,
        `skip_missing` restores the rest."""
        return self.go(AtCheckpoint(name, paths), mode, in_place=in_place, skip_missing=skip_missing,
                       force=force, progress=progress)

    def rewind_back(self, n: int = 1, *, both: bool = False, in_place: bool = False,
                    session: str | None = None, force: bool = False,
                    progress: Progress | None = None) -> Outcome:
        """Take back the last `n` prompts: the conversation as a fork (or in its own file), and with
        `both` the code as it was before the first of them."""
        return self.go(BeforePrompts(n, session), "both" if both else "conversation", in_place=in_place,
                       force=force, progress=progress)

    def undo(self, *, force: bool = False, progress: Progress | None = None) -> Outcome:
        """Restore the nearest ancestor of where the project stands that differs from the code as it is."""
        return self.go(EarlierOnLine(), "code", force=force, progress=progress)

    def undo_restore(self, op: str = "", *, force: bool = False, progress: Progress | None = None) -> Outcome:
        """Undo the newest operation that is not undone, or the one that is named and all later ones."""
        return self.go(BeforeOperation(op), force=force, progress=progress)

    def redo(self, *, force: bool = False, progress: Progress | None = None) -> Outcome:
        """Bring back what the newest `undo` or `undo_restore` replaced."""
        return self.go(BeforeUndo(), force=force, progress=progress)

    def revert(self, turns: list[str], *, session: str | None = None, paths: list[bytes] | None = None,
               how: str = "", force: bool = False, progress: Progress | None = None) -> Outcome:
        """Take back what these turns did (`t4`, `t2..t4`, `A..B`, a checkpoint) and keep everything later.
        Where there are conflicts nothing is written, unless `how` is "markers", "ours" or "theirs"."""
        return self.go(Reverted(turns, session, paths, how), "code", force=force, progress=progress)

    def apply_turns(self, turns: list[str], *, session: str | None = None, paths: list[bytes] | None = None,
                    how: str = "", force: bool = False, progress: Progress | None = None) -> Outcome:
        """Bring what these turns did onto the code of now; without any, what the fork `session` did."""
        return self.go(Applied(turns, session, paths, how), "code", force=force, progress=progress)

    def bring_back(self, old: str, new: str | None, parts: dict[bytes, list[str]], *, how: str = "",
                   label: str = "", session: str | None = None, force: bool = False,
                   progress: Progress | None = None) -> Outcome:
        """Bring back files or hunks of the difference between two checkpoints, or between one and now, as the
        old side has them. `parts` has the ids of hunks by path; none for a path: all of it."""
        return self.go(BroughtBack(old, new, parts, how=how, label=label, session=session), "code",
                       force=force, progress=progress)

    def operations(self) -> list[Operation]:
        """The log of what changed files or conversations, oldest first."""
        return self.state.operations().mine()

    def operation(self, text: str) -> Operation:
        """One of them, by its id or the beginning of it."""
        return self.state.operations().find(text)

    def describe(self, op: Operation, longest: int = 60) -> str:
        """What an operation did, in words; a prompt in them is cut to so many characters."""
        from rewind.checkpoint.rewind.operation_words import describe

        return describe(op, {one.id: one for one in self.state.operations().all}, longest)

    def to_undo(self) -> Operation | None:
        """What `undo_restore` would take back."""
        from rewind.checkpoint.rewind.undo_and_redo import undo_target

        return undo_target(self.state, self.state.operations())

    def to_redo(self) -> Operation | None:
        """What `redo` would take back."""
        from rewind.checkpoint.rewind.undo_and_redo import redo_target

        return redo_target(self.state, self.state.operations())

    @property
    def place(self) -> str:
        """The work tree that this is about: `main`, or the name of a linked one."""
        return self.state.place

    def here(self) -> Record | None:
        """The checkpoint that the project stands on."""
        from rewind.checkpoint.operation_log.lineage import here

        return here(self._fresh)

    def lineage(self) -> Lineage:
        """What each checkpoint came from."""
        from rewind.checkpoint.operation_log.lineage import lineage

        return lineage(self._fresh)

    def interrupted(self) -> Operation | None:
        """The operation that a killed process left half done, if there is one."""
        return self.state.interrupted()

    def is_turn_running(self) -> bool:
        """Whether an agent is in the middle of a turn here."""
        from rewind.checkpoint.rewind.apply import refuse_while_running

        try:
            refuse_while_running(self.state, False)
        except TurnRunning:
            return True
        return False

    def wait_until_left(self, session: str) -> None:
        """Before a step is undone whose fork a client has just left: until that client says so."""
        from rewind.checkpoint.rewind.conversation.leaving import wait_until_left

        wait_until_left(self.state, session)

    def open_in(self, outcome: Outcome) -> str:
        """The agent whose client still has the conversation open that was left; empty where nobody has."""
        from rewind.checkpoint.conversations.which_session import SessionActivity

        left = outcome.left
        if left is None or not os.path.isfile(left.original):
            return ""
        is_open = SessionActivity(self.state).is_open(left.profile, left.session_id)
        return left.profile.title if is_open else ""

    def asked(self, outcome: Outcome) -> tuple[int | None, float | None]:
        """Which turn the first prompt taken back was, and when it was given, as far as that is known without
        reading much."""
        from rewind.checkpoint.conversations.bring_back import number_of_prompt
        from rewind.checkpoint.records.record import seconds_of

        if outcome.left is None or not outcome.prompts:
            return None, None
        first = outcome.prompts[0]
        try:
            return number_of_prompt(self.state, outcome.left, first.uuid), seconds_of(first.stamp)
        except (RewindError, OSError):
            return None, None

    def is_busy(self, session_id: str) -> bool:
        """Whether a turn is running in this session."""
        from rewind.checkpoint.conversations.which_session import SessionActivity

        return SessionActivity(self.state).of(self.session_file(session_id))[1]

    def running_turns(self) -> set[str]:
        """The sessions in which a turn is running, in all work trees."""
        from rewind.checkpoint.conversations.recorded_sessions import running_turns

        folders = [self.state.dir_of(place) for place in self.state.places()]
        return {session for folder in folders for session in running_turns(self.state, folder)}

    def left_processes(self, plan: Plan) -> bool:
        """Whether turns that a plan drops ran something that may still be running."""
        from rewind.transcript.turns.turn_pages import left_processes

        return bool(plan.index and plan.cut and left_processes(plan.index, plan.cut.offset))

    def pin(self, name: str, pinned: bool = True) -> Record:
        """Keep a checkpoint for good, or no longer."""
        from rewind.checkpoint.change_record import pin

        return pin(self.state, self.find(name).name, pinned)

    def describe_checkpoint(self, name: str, description: str) -> Record:
        """Give a checkpoint another description."""
        from rewind.checkpoint.change_record import describe

        return describe(self.state, self.find(name).name, description)

    def check_deletable(self, names: list[str], *, force: bool = False) -> None:
        """Raises where one of these checkpoints is still needed."""
        from rewind.checkpoint.change_record import check_deletable

        check_deletable(self._fresh, names, force)

    def delete(self, names: list[str], *, force: bool = False, wait: float = 10.0,
               progress: Progress | None = None) -> Collected:
        """Delete checkpoints and what only they held. This cannot be undone."""
        from rewind.checkpoint.change_record import delete

        found = [self.find(name).name for name in names]
        return delete(self.state, found, force=force, wait=wait, progress=progress)

    def search_code(self, text: str, *, any_case: bool = False,
                    damaged: dict[str, RewindError] | None = None) -> Iterator[CodeFound]:
        """Where a text occurs in the files of checkpoints, each version of a file once, newest first."""
        from rewind.checkpoint.search.code import search_code

        return search_code(self._fresh, text, any_case=any_case, damaged=damaged)

    def newest(self) -> Record | None:
        """The checkpoint that was made last."""
        return self._fresh.timeline.newest_here()

    def settings(self) -> Settings:
        return self.state.settings

    def setting(self, key: str) -> Any:
        """The effective value of a setting."""
        return self.state.settings.get(key)

    def interrupted_text(self) -> str:
        """What was interrupted, and the ways out; empty where nothing was."""
        from rewind.checkpoint.rewind.operation_words import interrupted_text

        op = self.interrupted()
        return interrupted_text(op) if op else ""

    def parent_session(self, session_id: str) -> str:
        """The session that a fork came from."""
        info = self.session(session_id)
        if not info.parent:
            raise NoParent(session=info.session_id)
        return info.parent

    def code_before(self, session_id: str, offset: int) -> CodeAt | None:
        """The checkpoint with the code as it was when the prompt at this place was given."""
        from rewind.checkpoint.select.code_at import code_before

        return code_before(self.state, self.session_file(session_id), offset)

    def write_to(self, name: str, target: str, *, paths: list[bytes] | None = None,
                 left_out: list[bytes] | None = None, progress: Progress | None = None) -> list[bytes]:
        """Write a checkpoint's files into another, empty directory; the project is not touched. What is
        missing in one that is not whole goes to `left_out`; without that, it is refused."""
        from rewind.checkpoint.rewind.files.elsewhere import write_elsewhere

        return write_elsewhere(self.state, self.find(name), target, paths, progress, left_out)

    def plan_write_to(self, name: str, target: str, *, paths: list[bytes] | None = None,
                      left_out: list[bytes] | None = None) -> list[bytes]:
        """What `write_to` would write; nothing is touched."""
        from rewind.checkpoint.rewind.files.elsewhere import plan_elsewhere

        return plan_elsewhere(self.state, self.find(name), target, paths, left_out)

    def turn_span(self, session_id: str, turn: int, offset: int) -> tuple[str | None, str | None]:
        """The checkpoints before a turn and after it; None for the second: the project as it is now."""
        from rewind.checkpoint.select.code_at import turn_span

        return turn_span(self.state, self.session_file(session_id), turn, offset)

    # conversations

    def sessions(self) -> list[SessionInfo]:
        """The agents' sessions in this project, latest first, each with its parent."""
        from rewind.checkpoint.conversations.session_tree import session_infos

        return session_infos(self.state)

    def native_rewinds(self, infos: list[SessionInfo]) -> dict[str, list[NativeRewind]]:
        """Where the agents themselves went back in these sessions."""
        from rewind.checkpoint.map.session_graph import native_rewinds

        return native_rewinds(self.state, infos)

    def turn_of_current_code(self, infos: list[SessionInfo]) -> tuple[str, int] | None:
        """Which of these sessions the files are from, and after which of its turns, where that is known."""
        from rewind.checkpoint.map.session_graph import turn_of_current_code

        return turn_of_current_code(self._fresh, infos)

    def session(self, text: str) -> SessionInfo:
        """One of them, by its id or the beginning of it."""
        return self._sessions_named([text])[0]

    def _sessions_named(self, texts: list[str]) -> list[SessionInfo]:
        """In the order of the names, each once. It may read every transcript, so never under the lock."""
        from rewind.transcript.find import find_session

        infos = self.sessions()
        files = {id(info.file): info for info in infos}
        found = [files[id(find_session([info.file for info in infos], text))] for text in texts]
        return list({info.session_id: info for info in found}.values())

    def session_index(self, text: str | None = None) -> SessionIndex:
        """The turns of a session: by id, by the path of its transcript, or of the current one."""
        from rewind.checkpoint.conversations.which_session import choose_session
        from rewind.transcript.read.index import read_index

        found = choose_session(self.state, text).session
        return read_index(found.path, found.profile)

    def current_turns(self, most: int) -> list[Row]:
        """The last turns of the session that `back` would take, oldest first."""
        from rewind.checkpoint.conversations.which_session import choose_session

        index = self.turns_of(choose_session(self.state, with_prompt=True).session)
        return index.turns(max(1, index.total - most + 1), index.total)

    def session_files(self) -> Iterator[tuple[SessionFile, tuple[bool, bool]]]:
        """The project's transcripts, each with whether it is open and whether a turn is running in it."""
        from rewind.checkpoint.conversations.which_session import SessionActivity
        from rewind.transcript.find import project_sessions

        activity = SessionActivity(self.state)
        for file in project_sessions(self.state.area(), home=self.project.home):
            yield file, activity.of(file)

    def session_file(self, session_id: str) -> SessionFile:
        """The transcript of a session of this project, by its full id."""
        from rewind.transcript.find import session_with_id

        found = session_with_id(self.state.area(), session_id, home=self.project.home)
        if found is None:
            raise SessionNotFound(name=session_id[:200])
        return found

    def turn_index(self, session_id: str) -> TurnIndex:
        return self.turns_of(self.session_file(session_id))

    def turns(self, session_id: str, start: int, count: int, *, whole: bool = False) -> TurnPage:
        """Turns with what was said in them, from number `start` on; a negative one counts from the end."""
        from rewind.checkpoint.map.turn_views import read_page
        from rewind.transcript.turns.turn_blocks import for_one_turn

        return read_page(self.state, self.session_file(session_id), start, count,
                         for_one_turn() if whole else None)

    def shape(self, session_id: str, known: dict[int, TurnFigures], patience: float) -> SessionShape:
        """What every turn of a session changed, and the marks on it. The caller keeps `known` for the next
        time."""
        from rewind.checkpoint.map.session_shape import read_shape

        return read_shape(self._fresh, self.session_file(session_id), known, patience)

    def said(self, session_id: str, turn: int, longest: int) -> TurnText | None:
        """What was said in one turn, cut to so many characters a block."""
        from rewind.transcript.turns.turn_blocks import Limits
        from rewind.transcript.turns.turn_pages import read_turns

        found = read_turns(self.turn_index(session_id), turn, turn, Limits(longest, 4 * longest, 0))
        return found[0] if found else None

    def search(self, session_id: str, text: str) -> tuple[list[Match], bool]:
        """Where a text occurs in a session, and whether there is more than what is returned."""
        from rewind.transcript.turns.turn_pages import search

        return search(self.turn_index(session_id), text)

    def compare_sessions(self, a: str, b: str) -> tuple[SessionInfo, SessionInfo, Compared]:
        from rewind.checkpoint.map.compare_sessions import compare_sessions

        by_id = {info.session_id: info for info in self.sessions()}
        one, other = (by_id.get(text) or self.session(text) for text in (a, b))
        return one, other, compare_sessions(self.state, one, other)

    def mark_turn(self, session_id: str, turn: int, name: str) -> Record:
        """Give the checkpoint of a turn a name; the last turn's is made now."""
        from rewind.checkpoint.change_record import mark_turn

        return mark_turn(self.state, self.session_file(session_id), turn, name)

    def rename_fork(self, text: str, name: str, *, dry_run: bool = False) -> SessionInfo:
        from rewind.checkpoint.rewind.conversation import forks

        info, name = self.session(text), forks.checked_name(name)
        if not dry_run:
            with self._locked("forks"):
                forks.rename(self.state, info, name)
        return info

    def promote_fork(self, text: str) -> SessionInfo:
        from rewind.checkpoint.rewind.conversation import forks

        info = self.session(text)
        parents = [other for other in self.sessions() if other.session_id == info.parent]
        with self._locked("forks"):
            forks.promote(self.state, info, parents[0] if parents else None)
        return info

    def delete_forks(self, texts: list[str], *, dry_run: bool = False) -> list[SessionInfo]:
        """To the trash. All of them are looked at before the first one is moved."""
        from rewind.checkpoint.rewind.conversation import forks

        infos = self._sessions_named(texts)
        for info in infos:
            forks.check_deletable(self.state, info)
        if not dry_run:
            with self._locked("forks"):
                for info in infos:
                    forks.delete(self.state, info)
        return infos

    def undelete_fork(self, text: str) -> str:
        from rewind.checkpoint.rewind.conversation import forks

        with self._locked("forks"):
            return forks.undelete(self.state, text)

    def deleted_forks(self) -> list[Deleted]:
        """In the trash: `sessionId`, `title`, `path`, `agent`."""
        from rewind.checkpoint.rewind.conversation.forks import deleted

        return deleted(self.state)

    def only_here(self) -> list[KeptConversation]:
        """Conversations that only checkpoints still hold, newest first."""
        from rewind.checkpoint.conversations.deleted_by_agent import only_here

        return only_here(self._fresh)

    def restore_session(self, text: str, *, dry_run: bool = False) -> KeptConversation:
        """Put such a conversation back where its agent finds it."""
        from rewind.checkpoint.conversations.deleted_by_agent import bring_back, find_kept_conversation

        if dry_run:
            return find_kept_conversation(self.state, text)
        with self._locked("sessions restore"):
            return bring_back(self.state, text)

    # several futures

    def fork(self, target: Target, *, name: str = "", to: str = "", count: int = 1, bring: str = "",
             dry_run: bool = False, progress: Progress | None = None) -> list[Future]:
        """Directories of their own with the code of a target, each with a fork of its conversation. `bring`
        is "link" or "copy", for directories that no checkpoint holds."""
        from rewind.checkpoint.futures.known.lane import lanes, removed_lanes
        from rewind.checkpoint.futures.known.where import folders_for, names_for
        from rewind.checkpoint.futures.make import make_future
        from rewind.checkpoint.rewind.target import Request

        state = self._fresh
        taken = {lane.name for lane in (*lanes(state), *removed_lanes(state))}
        names = names_for(name, count, taken)
        folders = folders_for(state, to, names)
        return [make_future(state, Request(target, name=one), one, folder, bring=bring, dry_run=dry_run,
                            progress=progress) for one, folder in zip(names, folders)]

    def lanes(self) -> list[Lane]:
        """The forks that have a directory of their own, and how far each has come."""
        from rewind.checkpoint.futures.known.lane import lanes, read_progress

        return [read_progress(self.state, lane) for lane in lanes(self.state)]

    def lane(self, text: str) -> Lane:
        """One of them, by its name, its directory or its session."""
        from rewind.checkpoint.futures.known.lane import find_lane

        return find_lane(self.state, text)

    def removed_lanes(self) -> list[Lane]:
        """Those that were removed, and can be brought back."""
        from rewind.checkpoint.futures.known.lane import removed_lanes

        return removed_lanes(self.state)

    def compare_lanes(self, lanes: list[Lane]) -> dict[str, list[ChangedFile | None]]:
        """Path -> what each of them did to it. What was not saved there yet is saved first."""
        from rewind.checkpoint.futures.compare import compared

        return compared(self.state, lanes)

    def run_in_lane(self, lane: Lane, command: list[str], stop: Callable[[], bool] | None = None) -> Ran:
        """What a command does in its directory; `stop` is asked again and again whether to end it."""
        from rewind.checkpoint.futures.run import run_in

        return run_in(self.state, lane, command, stop)

    def save_lane(self, lane: Lane) -> None:
        """What was done there since its last checkpoint becomes one."""
        from rewind.checkpoint.futures.compare import bring_up_to_date

        bring_up_to_date(self.state, lane, "adopt")

    def remove_lane(self, lane: Lane, *, force: bool = False, dry_run: bool = False) -> None:
        """Its directory goes, its conversation goes to the trash, its checkpoints stay."""
        from rewind.checkpoint.futures.remove import remove

        remove(self.state, lane, force=force, dry_run=dry_run)

    def lane_resume(self, lane: Lane) -> str:
        """The command that goes on there."""
        from rewind.checkpoint.futures.known.lane import resume_in

        return resume_in(self.state, lane)

    def bring_back_lane(self, lane: Lane) -> None:
        from rewind.checkpoint.futures.remove import bring_back

        bring_back(self.state, lane)

    def resume_command(self, info: SessionInfo) -> str:
        from rewind.checkpoint.conversations.bring_back import resume_command

        return resume_command(self.state, info.file.profile, info.session_id, info.file.path)

    # looking

    def map_by_session(self) -> ProjectMap:
        """Sessions, prompts, checkpoints and forks in the order in which they happened; last comes now."""
        from rewind.checkpoint.map.by_session import map_by_session

        return map_by_session(self.state)

    def map(self) -> ProjectMap:
        """The same in the order in which things happened, each with its row of the map: turns, what was
        edited between them, checkpoints made by hand, and operations."""
        from rewind.checkpoint.map.in_order import map_in_order

        return map_in_order(self.state)

    def map_stamp(self) -> str:
        """Text that changes when there is something new to show, and costs less than the map."""
        from rewind.checkpoint.map.by_session import stamp

        return stamp(self.state)

    def look(self, progress: Progress | None = None) -> Snapshot:
        """The project as it is now, without storing anything."""
        return self.state.look(progress=progress)

    def diff(self, old: str, new: str | None = None, *, paths: list[bytes] | None = None,
             progress: Progress | None = None) -> AbstractContextManager[Difference]:
        """What differs between two checkpoints, or between one and the project as it is now."""
        from rewind.checkpoint.changes.difference import difference

        return difference(self.state, self.find(old), self.find(new) if new else None, paths, progress)

    def ends(self, text: str) -> tuple[str, str | None] | None:
        """What to compare to see what a range did, `t2..t4` or `A..B`; None where the text is no range."""
        from rewind.checkpoint.select.spans import ends

        return ends(self._fresh, text)

    def side(self, name: str | None = None) -> AbstractContextManager[Side]:
        """The tree of a checkpoint, or of the project as it is now."""
        from rewind.checkpoint.changes.difference import side

        return side(self.state, self.find(name) if name else None)

    def heat(self, name: str, patience: float) -> Heat:
        """How often each file changed along the line to a checkpoint, as far as that is found in time.
        Without a name: nothing, for a project that has no checkpoint yet."""
        from rewind.checkpoint.search.file_heat import file_heat

        return file_heat(self._fresh, self.find(name).name if name else "", patience)

    def files(self, name: str) -> Iterator[tuple[bytes, TreeEntry]]:
        """Every path that a checkpoint holds, and what it was."""
        from rewind.snapshot.trees.listing import every_path

        record = self.find(name)
        with self.source(record) as source:
            yield from every_path(record.tree, source.tree)

    def log(self, path: bytes, damaged: dict[str, RewindError] | None = None) -> Iterator[LogEntry]:
        """The checkpoints that changed a path, newest first. What cannot be read goes to `damaged`."""
        from rewind.checkpoint.search.file_log import file_log

        return file_log(self._fresh, path, {} if damaged is None else damaged)

    def blame(self, path: bytes, checkpoint: str | None = None, *, first: int | None = None,
              last: int | None = None) -> Blame:
        """Which turn wrote each line of a file, as it is now or in a checkpoint; lines count from 1."""
        from rewind.checkpoint.turns.blame.blame import blame

        return blame(self._fresh, path, checkpoint, first, last)

    def bisect(self, command: Sequence[str], *, good: str | None = None, bad: str | None = None,
               known: dict[str, str] | None = None, below: str = "", in_place: bool = False,
               force: bool = False, quiet: bool = False,
               progress: Callable[[Record, int, int], None] | None = None) -> Bisected:
        """Find the first checkpoint on the line with which a command fails, in a directory of its own, or
        `in_place`. `quiet`: what the command prints is not shown."""
        from rewind.checkpoint.turns.bisect.bisect import Bisect

        return Bisect(self._fresh, command, good=good, bad=bad, known=known, below=below, quiet=quiet,
                      progress=progress).run(in_place=in_place, force=force)

    def plan_bisect(self, *, good: str | None = None, bad: str | None = None,
                    in_place: bool = False) -> tuple[list[Record], list[bytes]]:
        """The checkpoints that `bisect` would search, oldest first, and what it would link in."""
        from rewind.checkpoint.turns.bisect.bisect import Bisect
        from rewind.checkpoint.turns.bisect.scratch import to_link

        states = Bisect(self._fresh, (), good=good, bad=bad).states
        return states, [] if in_place else to_link(self.state)

    def plan_commits(self, turns: Sequence[str] = (), *, per_turn: bool = False,
                     session: str | None = None) -> Commits:
        """Git commits that turns would become; `make` of what is returned makes them."""
        from rewind.checkpoint.turns.commit.commit import Commits

        return Commits(self._fresh, turns, per_turn=per_turn, session=session)

    def bisect_log(self) -> str:
        """What the last bisect tried."""
        from rewind.checkpoint.turns.bisect.log import BisectLog

        return BisectLog(self.state).text()

    def end_bisect(self) -> Outcome | None:
        """Bring back the files that a bisect left, whose process was killed; None where there is none."""
        op = self.interrupted()
        if op is None or op.command != "bisect":
            return None
        return self.undo_restore(force=True)

    def search_prompts(self, text: str, *, session: str | None = None,
                       any_case: bool = False) -> Iterator[Found]:
        """Where a text occurs in the prompts of the project's conversations, the latest one first."""
        from rewind.checkpoint.select.prompts import search_prompts
        from rewind.transcript.find import find_session, project_sessions

        files = project_sessions(self.state.area(), home=self.project.home)
        return search_prompts(self.state, [find_session(files, session)] if session else files, text,
                              any_case=any_case)

    def status(self, progress: Progress | None = None) -> Status:
        from rewind.checkpoint.status import Status

        return Status(self.state, self.look(progress))

    # to and from a file

    def plan_export(self, name: str, path: str = "", *, force: bool = False) -> Exported:
        from rewind.checkpoint.share import export_import

        if path:
            export_import.check_target(path, force)
        return export_import.look_at_export(self.state, self.find(name))

    def export(self, name: str, target: str | BinaryIO, *, force: bool = False,
               progress: Progress | None = None) -> Exported:
        """Write a checkpoint as one tar.gz into a new file, or into an open binary stream."""
        from rewind.checkpoint.share import export_import

        record = self.find(name)
        if isinstance(target, str):
            return export_import.export_to_file(self.state, record, target, force=force, progress=progress)
        return export_import.export_to_stream(self.state, record, target, progress)

    def plan_import(self, path: str, *, allow_links_out: bool = False, max_bytes: int | None = None,
                    progress: Progress | None = None) -> Imported:
        """Check the whole file as an import does, and store nothing."""
        from rewind.checkpoint.share import export_import

        return export_import.look_at_import(path, allow_links_out=allow_links_out, max_bytes=max_bytes,
                                            progress=progress)

    def import_(self, path: str, *, allow_links_out: bool = False, max_bytes: int | None = None,
                wait: float = 10.0, progress: Progress | None = None) -> Record:
        """Make a checkpoint of an exported one. The project itself is not touched."""
        from rewind.checkpoint.share import export_import

        with self._locked("import", wait):
            return export_import.import_file(self.state, path, allow_links_out=allow_links_out,
                                             max_bytes=max_bytes, progress=progress)

    # to and from a git repository elsewhere

    def remotes(self) -> list[Remote]:
        from rewind.checkpoint.remote.known import Remotes

        return Remotes(self.state).all

    def add_remote(self, name: str, url: str) -> Remote:
        from rewind.checkpoint.remote.change import add_remote

        return add_remote(self.state, name, url)

    def remove_remote(self, name: str) -> Remote:
        from rewind.checkpoint.remote.change import remove_remote

        return remove_remote(self.state, name)

    def remote_status(self, *, ask: bool = False) -> Statuses:
        """`all()` of it asks the remotes. `ask`: git may ask for a password on the terminal."""
        from rewind.checkpoint.remote.status import Statuses

        return Statuses(self.state, ask=ask)

    def push(self, remote: str | None = None, *, with_secrets: bool = False, with_ignored: bool = False,
             dry_run: bool = False, ask: bool = False, progress: Progress | None = None) -> Pushed:
        """Send the checkpoints and conversations that a remote lacks."""
        from rewind.checkpoint.remote.push.push import Push
        from rewind.checkpoint.share.giving.left_out import Policy

        policy = Policy(with_secrets=with_secrets, with_ignored=with_ignored)
        with Push(self._fresh, remote, policy, ask=ask, progress=progress) as push:
            if dry_run:
                return push.plan()
            push.write()
            return push.send()

    def pull(self, remote: str | None = None, *, everything: bool = False, dry_run: bool = False,
             ask: bool = False, max_mb: int | None = None, progress: Progress | None = None) -> Pulled:
        """Bring what others have pushed, as lanes. No file of the project is touched."""
        from rewind.checkpoint.remote.pull.pull import pull

        return pull(self._fresh, remote, everything=everything, dry_run=dry_run, ask=ask, max_mb=max_mb,
                    progress=progress)

    @classmethod
    def clone(cls, url: str, folder: str, *, home: str | None = None, ask: bool = False,
              max_mb: int | None = None, progress: Progress | None = None) -> tuple[Controller, Cloned]:
        """A new project from a remote, in a directory that is empty or not there."""
        from rewind.checkpoint.remote.pull.clone import clone

        home = home or rewind_home()
        cloned = clone(url, folder, home, cls.mode_for(folder, home=home), ask=ask, max_mb=max_mb,
                       progress=progress)
        return cls._of(cloned.state), cloned

    def share(self, words: list[str], *, with_secrets: bool = False, with_ignored: bool = False,
              code_only: bool = False) -> Sharing:
        """A session, turns of it or a checkpoint, for others; to be closed. Its `write` writes the file."""
        from rewind.checkpoint.share.giving.give import Sharing

        return Sharing(self._fresh, words, with_secrets=with_secrets, with_ignored=with_ignored,
                       code_only=code_only)

    @staticmethod
    def open_shared(path: str, folder: str, *, home: str | None = None, max_bytes: int | None = None,
                    dry_run: bool = False, progress: Progress | None = None) -> Opened:
        """Take over what `share` wrote: into an empty directory, or beside the history of a project."""
        from rewind.checkpoint.share.taking.open_shared import open_file

        home = home or rewind_home()
        return open_file(path, folder, home, Controller.mode_for(folder, home=home),
                         max_bytes=max_bytes, dry_run=dry_run, progress=progress)

    # upkeep

    def plan_gc(self, keep: int | None = None) -> list[Record]:
        from rewind.checkpoint.upkeep import retention

        return retention.choose(self.state, keep)

    def gc(self, keep: int | None = None, *, wait: float = 10.0,
           progress: Progress | None = None) -> Collected:
        from rewind.checkpoint.chores import gc

        return gc(self.state, keep, wait, progress)

    def pack(self, *, wait: float = 10.0) -> None:
        from rewind.checkpoint.upkeep.pieces import pack

        pack(self.state, wait)

    def validate(self, *, deep: bool = False, progress: Progress | None = None) -> list[str]:
        from rewind.checkpoint.repair.validate import validate

        return validate(self.state, deep=deep, progress=progress)

    def examine(self, *, deep: bool = False, progress: Progress | None = None) -> Examined:
        """The same with what each checkpoint lacks. After a deep look the next checkpoint stores anew what
        it meets of what is damaged, unless somebody else is at work here, or nothing can be written."""
        from rewind.checkpoint.repair.repair import note_damage
        from rewind.checkpoint.repair.validate import examine

        found = examine(self.state, deep=deep, progress=progress)
        if deep:
            try:
                with self._locked("validate", wait=0):
                    note_damage(self.state, found)
            except (RewindError, OSError):
                pass
        return found

    def repair(self, *, dry_run: bool = False, copies: list[str] | None = None,
               progress: Progress | None = None) -> Repaired:
        """Read everything, bring back what is damaged and has another copy, put the rest aside."""
        from rewind.checkpoint.repair.repair import repair

        if dry_run:
            return repair(self.state, dry_run=True, copies=copies or [], progress=progress)
        with self._locked("repair", all_places=True):
            return repair(self.state, dry_run=False, copies=copies or [], progress=progress)

    def incomplete(self) -> dict[str, MissingContent]:
        """The checkpoints that are known to lack something."""
        if not os.path.exists(self.project.path(DAMAGE_FILE)):
            return {}
        return self.state.damage().checkpoints

    def home_is_temporary(self) -> bool:
        """In a container whose home directory goes with it, and whose project stays."""
        from rewind.checkpoint.project.init import home_is_temporary

        return home_is_temporary(self.project.main)

    def move_store(self, mode: str, progress: Progress | None = None) -> Project:
        """Keep the checkpoints in the project, or in global storage. This controller is closed by it."""
        from rewind.checkpoint.project.move_store import move_store

        moved = move_store(self.state, mode, progress)
        self.close()
        return moved

    def disk_use(self) -> int:
        from rewind.checkpoint.upkeep.disk_use import disk_use

        return disk_use(self.state)


def _project_named(named: str, home: str | None) -> Project | None:
    from rewind.paths import project_of_state

    return project_of_state(named, home) or find_project(named, home)


def _project_here(home: str | None) -> Project | None:
    """That of `REWIND_PROJECT_ROOT`, which an agent's session sets; but the place is the one that this
    process is in, for the agent may have gone to another work tree since."""
    named = os.environ.get("REWIND_PROJECT_ROOT")
    if not named:
        return find_project(current_dir(), home)
    found = find_project(named, home)
    try:
        here = find_project(os.getcwd(), home)
    except OSError:
        here = None
    return here if found and here and here.state == found.state else found
