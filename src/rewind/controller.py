"""The one door for every user interface and for Python users.

    from rewind import Controller

    project = Controller("path/to/project")
    name = project.save("before the refactoring").record.name
    project.restore(name)
"""

from __future__ import annotations

import os

# What saves, goes back and cleans up is loaded by the methods that do so: `list` needs none of it.
from rewind.checkpoint.state import DAMAGE_FILE, State
from rewind.errors import NothingToRedo, NothingToUndo, NotInitialised, PathNotFound, RewindError
from rewind.paths import Project, current_dir, find_project, rewind_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager, ExitStack
    from typing import Any, BinaryIO

    from rewind.checkpoint.collection import Collected
    from rewind.checkpoint.compare_sessions import Compared
    from rewind.checkpoint.damage import Lacks
    from rewind.checkpoint.fast_forward import Forwarded
    from rewind.checkpoint.file_log import LogEntry
    from rewind.checkpoint.go_back import Back, BackPlan
    from rewind.checkpoint.plan import RestorePlan
    from rewind.checkpoint.prompt_search import Found
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.repair import Repaired
    from rewind.checkpoint.restore import Restored
    from rewind.checkpoint.save import Saved
    from rewind.checkpoint.session_tree import SessionInfo
    from rewind.checkpoint.source import Source
    from rewind.checkpoint.status import Status
    from rewind.checkpoint.step import Step, Taken
    from rewind.checkpoint.story import Item, Story
    from rewind.checkpoint.timeline import Brief
    from rewind.checkpoint.to_turn import TurnPlan
    from rewind.checkpoint.transfer import Exported
    from rewind.checkpoint.turn_views import TurnPage
    from rewind.checkpoint.validate import Examined
    from rewind.snapshot.build import Progress, Snapshot
    from rewind.snapshot.portable import Imported
    from rewind.snapshot.tree import Entry, Tree
    from rewind.store.blobs import Blobs
    from rewind.transcript.find import SessionFile
    from rewind.transcript.index import SessionIndex
    from rewind.transcript.turn_index import TurnIndex
    from rewind.transcript.turn_pages import Match


class Side:
    """One side of a comparison: a checkpoint, or the project as it is now."""

    def __init__(self, name: str, root: bytes, source: Source | Snapshot, blobs: Blobs | None,
                 folder: bytes = b"") -> None:
        self.name = name
        self.root = root
        self._source = source
        self._blobs = blobs
        self._folder = folder

    def tree(self, oid: bytes) -> Tree:
        return self._source.tree(oid)

    @property
    def is_checkpoint(self) -> bool:
        return self._blobs is not None

    def content(self, path: bytes, entry: Entry, limit: int) -> bytes | None:
        """A file's bytes; None when they are more than `limit` or cannot be had (any more)."""
        if entry.size > limit:
            return None
        if self._blobs is not None:
            from rewind.snapshot.content import whole

            return whole(entry, self._blobs)
        from rewind.snapshot.live import read_live

        return read_live(self._folder, path, limit)


class Difference:
    """Paths that differ: (path, entry before, entry after)."""

    def __init__(self, old: Side, new: Side,
                 changes: list[tuple[bytes, Entry | None, Entry | None]]) -> None:
        self.old = old
        self.new = new
        self.changes = changes

    @property
    def added(self) -> list[bytes]:
        return [path for path, old, _ in self.changes if old is None]

    @property
    def modified(self) -> list[bytes]:
        return [path for path, old, new in self.changes if old and new]

    @property
    def deleted(self) -> list[bytes]:
        return [path for path, _, new in self.changes if new is None]


class Controller:
    def __init__(self, project: str | None = None, *, home: str | None = None,
                 forgiving: bool = False) -> None:
        """Open the project at or above a directory; `REWIND_PROJECT_ROOT` or the current one.

        `forgiving` opens it although a configuration file has problems, which then do not count.
        """
        start = project or os.environ.get("REWIND_PROJECT_ROOT") or current_dir()
        found = find_project(start, home)
        if found is None:
            raise NotInitialised(path=os.path.abspath(start))
        self.state = State(found, forgiving=forgiving)

    @classmethod
    def init(cls, root: str, *, mode: str | None = None, trust: bool = False,
             home: str | None = None, progress: Progress | None = None) -> tuple[Controller, Saved | None]:
        """Protect a directory. The first checkpoint is made unless there is one already."""
        from rewind.checkpoint.init import init_project

        home = home or rewind_home()
        state, _ = init_project(root, home, mode or _wanted_mode(home), trust)
        controller = cls.__new__(cls)
        controller.state = state
        if state.timeline.newest() is not None:
            return controller, None
        return controller, controller.save("First checkpoint", kind="initial", progress=progress)

    def close(self) -> None:
        self.state.close()

    @property
    def project(self) -> Project:
        return self.state.project

    def _refuse_while_running(self, force: bool) -> None:
        from rewind.checkpoint.running import refuse_while_running

        refuse_while_running(self.state, force)

    # checkpoints

    def save(self, description: str = "", *, kind: str = "manual", if_changed: bool = False,
             trigger: dict[str, Any] | None = None, session: SessionFile | None = None,
             wait: float = 10.0, progress: Progress | None = None) -> Saved:
        """A checkpoint of the code and of the conversation: that of `session`, else the current one."""
        from rewind.checkpoint.save import save

        return save(self.state, description, kind=kind, if_changed=if_changed, trigger=trigger,
                    session=session, wait=wait, progress=progress)

    def list_checkpoints(self, *, backups: bool = False, session: str | None = None) -> list[Record]:
        """Newest first."""
        self.state.look_again()
        records = list(reversed(self.state.timeline.all())) if backups else self.state.timeline.shown()
        if session:
            records = [r for r in records if (r.session or "").startswith(session)]
        return records

    def list_briefs(self, *, backups: bool = False, session: str | None = None) -> list[Brief]:
        """The same, with no more of each than a list shows, which is much faster where there are many."""
        self.state.look_again()
        return [b for b in self.state.timeline.briefs() if (backups or b.kind != "backup")
                and (not session or (b.session or "").startswith(session))]

    def find(self, name: str) -> Record:
        self.state.look_again()
        return self.state.timeline.find(name)

    def source(self, record: Record) -> Source:
        """The content of a checkpoint, to be used in a `with` statement."""
        from rewind.checkpoint.source import Source

        return Source(self.state, record)

    # going back

    def plan_restore(self, name: str, *, paths: list[bytes] | None = None) -> RestorePlan:
        from rewind.checkpoint import restore as going_back

        return going_back.plan_only(self.state, self.find(name), paths)

    def restore(self, name: str = "", *, mode: str = "both", paths: list[bytes] | None = None,
                plan: RestorePlan | None = None, in_place: bool = False, force: bool = False,
                skip_backup: bool = False, skip_missing: bool = False,
                progress: Progress | None = None) -> Restored:
        """Bring back the code, the conversation or both. With a `plan` that was shown, refuses when files
        changed since; of a checkpoint that is not whole, `skip_missing` restores the rest. Some paths alone
        have no conversation; nor have checkpoints made without an agent."""
        self._refuse_while_running(force or mode == "chat")
        with self.state.locked("restore"):
            record = self.find(name or (plan.checkpoint if plan else ""))
            if paths or mode == "code":
                from rewind.checkpoint.restore import restore  # without all that conversations need

                return restore(self.state, record, paths=paths, expected=plan, force=force,
                               skip_backup=skip_backup, progress=progress, position=record.sequence,
                               skip_missing=skip_missing)
            from rewind.checkpoint.go_back import restore_checkpoint

            return restore_checkpoint(self.state, record, mode=mode, expected=plan, in_place=in_place,
                                      force=force, skip_backup=skip_backup, progress=progress,
                                      skip_missing=skip_missing)

    def plan_back(self, n: int, *, both: bool = False, in_place: bool = False,
                  session: str | None = None) -> BackPlan:
        """What `rewind_back` would do; nothing is written."""
        from rewind.checkpoint.go_back import plan_back

        return plan_back(self.state, n, both=both, in_place=in_place, session=session)

    def rewind_back(self, n: int = 1, *, both: bool = False, in_place: bool = False,
                    session: str | None = None, force: bool = False,
                    progress: Progress | None = None) -> Back:
        """Take back the last `n` prompts: the conversation as a fork (or in its own file), and with
        `both` the code as it was before the first of them."""
        from rewind.checkpoint.go_back import plan_back, rewind_back

        self._refuse_while_running(force or not both)  # a fork alone disturbs nobody
        with self.state.locked("back"):
            plan = plan_back(self.state, n, both=both, in_place=in_place, session=session, plan_code=False)
            return rewind_back(self.state, plan, force=force, progress=progress)

    def write_to(self, name: str, target: str, *, paths: list[bytes] | None = None,
                 left_out: list[bytes] | None = None, progress: Progress | None = None) -> list[bytes]:
        """Write a checkpoint's files into another, empty directory; the project is not touched. What is
        missing in one that is not whole goes to `left_out`; without that, it is refused."""
        from rewind.checkpoint.elsewhere import write_elsewhere

        return write_elsewhere(self.state, self.find(name), target, paths, progress, left_out)

    def plan_write_to(self, name: str, target: str, *, paths: list[bytes] | None = None,
                      left_out: list[bytes] | None = None) -> list[bytes]:
        """What `write_to` would write; nothing is touched."""
        from rewind.checkpoint.elsewhere import plan_elsewhere

        return plan_elsewhere(self.state, self.find(name), target, paths, left_out)

    def foretell_chat(self, name: str, *, needed: bool, in_place: bool) -> list[str]:
        """What restoring a checkpoint would do about the conversation."""
        from rewind.checkpoint.go_back import foretell_chat

        return foretell_chat(self.state, self.find(name), needed=needed, in_place=in_place)

    def plan_undo(self) -> RestorePlan:
        record = self._undo_target()
        return self.plan_restore(record.name)

    def undo(self, *, force: bool = False, progress: Progress | None = None) -> Restored:
        """Restore the newest earlier checkpoint that differs from the code as it is now."""
        from rewind.checkpoint import restore as going_back

        self._refuse_while_running(force)
        with self.state.locked("undo"):
            record = self._undo_target()
            return going_back.restore(self.state, record, action="undo", force=force,
                                      progress=progress, position=record.sequence)

    def _undo_target(self) -> Record:
        from rewind.checkpoint import restore as going_back

        position = self.state.history().position
        # An imported one was never a state of this project: only `restore` leads there.
        earlier = [r for r in self.state.timeline.shown() if not r.data.get("imported")
                   and (position is None or r.sequence <= position)]
        record = going_back.first_that_differs(self.state, earlier, position)
        if record is None:
            raise NothingToUndo()
        return record

    def plan_redo(self) -> RestorePlan | None:
        """None when only the conversation would move."""
        from rewind.checkpoint import restore as going_back

        target = self._redo_target()
        if not target["checkpoint"]:
            return None
        return going_back.plan_only(self.state, self.find(target["checkpoint"]), going_back.paths_of(target),
                                    going_back.left_by(self.state, target))

    def redo(self, *, force: bool = False, progress: Progress | None = None) -> Restored:
        """Go forward again to the state that the last step back had left."""
        from rewind.checkpoint.go_back import redo

        self._refuse_while_running(force)
        with self.state.locked("redo"):
            return redo(self.state, self._redo_target(), force=force, progress=progress)

    def _redo_target(self) -> dict[str, Any]:
        redo = self.state.history().redo
        if not redo:
            raise NothingToRedo()
        return redo[-1]

    def foretell(self, *, forward: bool) -> list[str]:
        """What `redo`, or `undo-restore`, would do about the conversation."""
        from rewind.checkpoint.take_back import foretold

        history = self.state.history()
        step = (history.redo[-1].get("chat") or {}) if forward else history.entries[-1]
        return foretold(self.state, step, forward=forward)

    def plan_undo_restore(self) -> RestorePlan | None:
        """None when only the conversation would move."""
        from rewind.checkpoint import restore as going_back

        if not going_back.has_code(self.state):
            return None
        record, paths = going_back.last_backup(self.state)
        return going_back.plan_only(self.state, record, paths, going_back.last_step(self.state))

    def undo_restore(self, *, force: bool = False, progress: Progress | None = None) -> Restored:
        """Take back the last restore, undo, redo or step back: code and conversation."""
        from rewind.checkpoint.go_back import undo_restore

        self._refuse_while_running(force)
        with self.state.locked("undo-restore"):
            return undo_restore(self.state, force=force, progress=progress)

    def plan_step(self, item: Item, intent: str) -> Step:
        """What going back to an item of the story would do; nothing is written. The intent is "both", "code"
        or "chat". A prompt stands for the moment before it was given, a checkpoint for itself."""
        from rewind.checkpoint.step import plan_step

        return plan_step(self.state, item, intent)

    def take_step(self, step: Step, *, force: bool = False, progress: Progress | None = None) -> Taken:
        """Do what `plan_step` said; refuses when files, or the conversation, changed since."""
        from rewind.checkpoint.step import take_step

        return take_step(self.state, step, force=force, progress=progress)

    def interrupted(self) -> dict[str, Any] | None:
        """The restore that a killed process left half done, if there is one."""
        return self.state.interrupted()

    # conversations

    def sessions(self) -> list[SessionInfo]:
        """The agents' sessions in this project, latest first, each with its parent."""
        from rewind.checkpoint.session_tree import session_infos

        return session_infos(self.state)

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
        from rewind.checkpoint.which_session import choose_session
        from rewind.transcript.index import read_index

        found = choose_session(self.state, text).session
        return read_index(found.path, found.profile)

    def session_file(self, session_id: str) -> SessionFile:
        """The transcript of a session of this project, by its full id."""
        from rewind.transcript.find import SessionNotFound, session_with_id

        found = session_with_id(self.project.root, session_id, home=self.project.home)
        if found is None:
            raise SessionNotFound(name=session_id[:200])
        return found

    def turn_index(self, session_id: str) -> TurnIndex:
        from rewind.transcript.turn_index import open_turns

        file = self.session_file(session_id)
        return open_turns(file.path, file.profile, self.state.derived)

    def turns(self, session_id: str, start: int, count: int, *, whole: bool = False) -> TurnPage:
        """Turns with what was said in them, from number `start` on; a negative one counts from the end."""
        from rewind.checkpoint.turn_views import read_page
        from rewind.transcript.turn_blocks import for_one_turn

        return read_page(self.state, self.session_file(session_id), start, count,
                         for_one_turn() if whole else None)

    def search(self, session_id: str, text: str) -> tuple[list[Match], bool]:
        """Where a text occurs in a session, and whether there is more than what is returned."""
        from rewind.transcript.turn_pages import search

        return search(self.turn_index(session_id), text)

    def compare_sessions(self, a: str, b: str) -> tuple[SessionInfo, SessionInfo, Compared]:
        from rewind.checkpoint.compare_sessions import compare_sessions

        by_id = {info.session_id: info for info in self.sessions()}
        one, other = (by_id.get(text) or self.session(text) for text in (a, b))
        return one, other, compare_sessions(self.state, one, other)

    def plan_to_turn(self, session_id: str, turn: int, *, both: bool = False) -> TurnPlan:
        """What `rewind_to_turn` would do; nothing is written."""
        from rewind.checkpoint.to_turn import plan_to_turn

        return plan_to_turn(self.state, self.session_file(session_id), turn, both=both)

    def rewind_to_turn(self, session_id: str, turn: int, *, both: bool = False, name: str = "",
                       stamp: str = "", progress: Progress | None = None) -> Back:
        """A branch that keeps the turns up to this one, and with `both` the code as it was before the next.
        With the `stamp` of a plan, refuses when the plan would be another one now."""
        from rewind.checkpoint.to_turn import rewind_to_turn

        file = self.session_file(session_id)
        self._refuse_while_running(not both)
        with self.state.locked("back"):
            return rewind_to_turn(self.state, file, turn, both=both, name=name, stamp=stamp,
                                  progress=progress)

    def fast_forward(self, session_id: str, *, code: bool = False) -> Forwarded:
        """From a branch to the session that it came from; with `code` the code, too."""
        from rewind.checkpoint.fast_forward import fast_forward

        info = self.session(session_id)
        self._refuse_while_running(not code)
        with self.state.locked("restore"):
            return fast_forward(self.state, info, code=code)

    def mark_turn(self, session_id: str, turn: int, name: str) -> Record:
        """Give the checkpoint of a turn a name; the last turn's is made now."""
        from rewind.checkpoint.mark_turn import mark_turn

        return mark_turn(self.state, self.session_file(session_id), turn, name)

    def rename_fork(self, text: str, name: str, *, dry_run: bool = False) -> SessionInfo:
        from rewind.checkpoint import forks

        info, name = self.session(text), forks.checked_name(name)
        if not dry_run:
            with self.state.locked("forks"):
                forks.rename(self.state, info, name)
        return info

    def promote_fork(self, text: str) -> SessionInfo:
        from rewind.checkpoint import forks

        info = self.session(text)
        parents = [other for other in self.sessions() if other.session_id == info.parent]
        with self.state.locked("forks"):
            forks.promote(self.state, info, parents[0] if parents else None)
        return info

    def delete_forks(self, texts: list[str], *, dry_run: bool = False) -> list[SessionInfo]:
        """To the trash. All of them are looked at before the first one is moved."""
        from rewind.checkpoint import forks

        infos = self._sessions_named(texts)
        for info in infos:
            forks.check_deletable(self.state, info)
        if not dry_run:
            with self.state.locked("forks"):
                for info in infos:
                    forks.delete(self.state, info)
        return infos

    def undelete_fork(self, text: str) -> str:
        from rewind.checkpoint import forks

        with self.state.locked("forks"):
            return forks.undelete(self.state, text)

    def deleted_forks(self) -> list[dict[str, Any]]:
        """In the trash: `sessionId`, `title`, `path`, `agent`."""
        from rewind.checkpoint.forks import deleted

        return deleted(self.state)

    def resume_command(self, info: SessionInfo) -> str:
        from rewind.checkpoint.chat import resume_command

        return resume_command(self.state, info.file.profile, info.session_id, info.file.path)

    # looking

    def story(self) -> Story:
        """Sessions, prompts, checkpoints and forks in the order in which they happened; last comes now."""
        from rewind.checkpoint.story import tell

        return tell(self.state)

    def story_stamp(self) -> str:
        """Text that changes when there is something new to tell, and costs less than the story."""
        from rewind.checkpoint.story import stamp

        return stamp(self.state)

    def look(self, progress: Progress | None = None) -> Snapshot:
        """The project as it is now, without storing anything."""
        from rewind.snapshot.scan import scan

        state = self.state
        return scan(state.root, state.rules(), state.cache, state.objects, keep=False, progress=progress)

    def diff(self, old: str, new: str | None = None, *, paths: list[bytes] | None = None,
             progress: Progress | None = None) -> AbstractContextManager[Difference]:
        """What differs between two checkpoints, or between one and the project as it is now."""
        from contextlib import ExitStack, contextmanager

        from rewind.snapshot.change import Paths, differences

        @contextmanager
        def compared() -> Iterator[Difference]:
            with ExitStack() as stack:
                before = self._side(old, stack)
                after = self._side(new, stack) if new else self._now(progress)
                _check_paths(before, after, paths)
                yield Difference(before, after, list(differences(
                    before.root, before.tree, after.root, after.tree, Paths(paths))))

        return compared()

    def _side(self, name: str, stack: ExitStack) -> Side:
        record = self.find(name)
        source = stack.enter_context(self.source(record))
        return Side(record.name, record.tree, source, source.blobs)

    def _now(self, progress: Progress | None) -> Side:
        snapshot = self.look(progress)
        return Side("now", snapshot.root, snapshot, None, self.state.root)

    def files(self, name: str) -> Iterator[tuple[bytes, Entry]]:
        """Every path that a checkpoint holds, and what it was."""
        from rewind.snapshot.listing import every_path

        record = self.find(name)
        with self.source(record) as source:
            yield from every_path(record.tree, source.tree)

    def log(self, path: bytes, damaged: dict[str, RewindError] | None = None) -> Iterator[LogEntry]:
        """The checkpoints that changed a path, newest first. What cannot be read goes to `damaged`."""
        from rewind.checkpoint.file_log import file_log

        self.state.look_again()
        return file_log(self.state, path, {} if damaged is None else damaged)

    def search_prompts(self, text: str, *, session: str | None = None,
                       any_case: bool = False) -> Iterator[Found]:
        """Where a text occurs in the prompts of the project's conversations, the latest one first."""
        from rewind.checkpoint.prompt_search import search_prompts
        from rewind.transcript.find import find_session, project_sessions

        files = project_sessions(self.project.root, home=self.project.home)
        return search_prompts(self.state, [find_session(files, session)] if session else files, text,
                              any_case=any_case)

    def status(self, progress: Progress | None = None) -> Status:
        from rewind.checkpoint.status import Status

        return Status(self.state, self.look(progress))

    # to and from a file

    def plan_export(self, name: str, path: str = "", *, force: bool = False) -> Exported:
        from rewind.checkpoint import transfer

        if path:
            transfer.check_target(path, force)
        return transfer.look_at_export(self.state, self.find(name))

    def export(self, name: str, target: str | BinaryIO, *, force: bool = False,
               progress: Progress | None = None) -> Exported:
        """Write a checkpoint as one tar.gz into a new file, or into an open binary stream."""
        from rewind.checkpoint import transfer

        record = self.find(name)
        if isinstance(target, str):
            return transfer.export_to_file(self.state, record, target, force=force, progress=progress)
        return transfer.export_to_stream(self.state, record, target, progress)

    def plan_import(self, path: str, *, allow_links_out: bool = False, max_bytes: int | None = None,
                    progress: Progress | None = None) -> Imported:
        """Check the whole file as an import does, and store nothing."""
        from rewind.checkpoint import transfer

        return transfer.look_at_import(path, allow_links_out=allow_links_out, max_bytes=max_bytes,
                                       progress=progress)

    def import_(self, path: str, *, allow_links_out: bool = False, max_bytes: int | None = None,
                wait: float = 10.0, progress: Progress | None = None) -> Record:
        """Make a checkpoint of an exported one. The project itself is not touched."""
        from rewind.checkpoint import transfer

        with self.state.locked("import", wait):
            return transfer.import_file(self.state, path, allow_links_out=allow_links_out,
                                        max_bytes=max_bytes, progress=progress)

    # upkeep

    def plan_gc(self, keep: int | None = None) -> list[Record]:
        from rewind.checkpoint import retention

        return retention.choose(self.state, keep)

    def gc(self, keep: int | None = None, *, wait: float = 10.0,
           progress: Progress | None = None) -> Collected:
        from rewind.checkpoint.collection import collect

        collected = collect(self.state, keep, wait, progress)
        self.pack(wait=wait)
        return collected

    def pack(self, *, wait: float = 10.0) -> None:
        from rewind.checkpoint.upkeep import pack

        pack(self.state, wait)

    def validate(self, *, deep: bool = False, progress: Progress | None = None) -> list[str]:
        from rewind.checkpoint.validate import validate

        return validate(self.state, deep=deep, progress=progress)

    def examine(self, *, deep: bool = False, progress: Progress | None = None) -> Examined:
        """The same with what each checkpoint lacks. After a deep look the next checkpoint stores anew what
        it meets of what is damaged, unless somebody else is at work here, or nothing can be written."""
        from rewind.checkpoint.repair import note_damage
        from rewind.checkpoint.validate import examine

        found = examine(self.state, deep=deep, progress=progress)
        if deep:
            try:
                with self.state.locked("validate", wait=0):
                    note_damage(self.state, found)
            except (RewindError, OSError):
                pass
        return found

    def repair(self, *, dry_run: bool = False, copies: list[str] | None = None,
               progress: Progress | None = None) -> Repaired:
        """Read everything, bring back what is damaged and has another copy, put the rest aside."""
        from rewind.checkpoint.repair import repair

        if dry_run:
            return repair(self.state, dry_run=True, copies=copies or [], progress=progress)
        with self.state.locked("repair"):
            return repair(self.state, dry_run=False, copies=copies or [], progress=progress)

    def incomplete(self) -> dict[str, Lacks]:
        """The checkpoints that are known to lack something."""
        if not os.path.exists(self.project.path(DAMAGE_FILE)):
            return {}
        return self.state.damage().checkpoints

    def config_problems(self) -> list[str]:
        """Those of `validate` that the configuration files have."""
        from rewind.config.load import check_settings

        return check_settings(self.project.home, self.project.state)

    def disk_use(self) -> int:
        from rewind.checkpoint import retention

        return retention.disk_use(self.state)


def _wanted_mode(home: str) -> str:
    from rewind.config.load import load_settings

    return str(load_settings(home, None).get("storage.mode"))


def _check_paths(before: Side, after: Side, paths: list[bytes] | None) -> None:
    from rewind.snapshot.change import Paths
    from rewind.snapshot.listing import entry_at

    for path in Paths(paths).paths or ():
        sides = (before, after)
        if all(entry_at(side.tree, side.root, path) is None for side in sides):
            raise PathNotFound(checkpoint=before.name, path=os.fsdecode(path))
