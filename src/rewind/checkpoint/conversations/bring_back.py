"""Bringing a conversation back: as a fork beside it, or in its own file."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, BinaryIO, TypedDict

from rewind.agents.profile import TREE, Profile
from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint.conversations.backup_sums import backup_checksum
from rewind.checkpoint.conversations.links import body_of, links_of, snapshot_of
from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.conversations.stored import write_out
from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.checkpoint.records.record import Record, cursor_of, iso_time
from rewind.errors import (
    NoConversation,
    NothingBeforeCut,
    NotOurs,
    RewindError,
    SessionInUse,
    TranscriptNotFound,
)
from rewind.files import PRIVATE_FILE, draft_of, make_private_dir
from rewind.transcript.find import SessionFile, began_in, folder_for, session_anywhere
from rewind.transcript.kinds import kind_of
from rewind.transcript.liveness import check_in_place, why_open
from rewind.transcript.names import is_session_id, path_beside, session_id_of
from rewind.transcript.place.cursor import header_length, place_in
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.index import read_index
from rewind.transcript.read.lines import identity_of, open_transcript, size_of
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.write.fork import Fork, temp_of, write_fork
from rewind.transcript.write.import_session import check_client
from rewind.transcript.write.in_place import rewrite
from rewind.transcript.write.sidecars import INDEX, add_to_index, sidecar_paths, update_index

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.known_forks import KnownFork
    from rewind.checkpoint.records.record import Transcript

BACKUPS = "transcript-backup"
_WORTH_COUNTING = 8 << 20  # the turns of a longer conversation are counted when somebody looks at it
_WORTH_READING = 32 << 20


class ForkPlace:
    """The place of the project in which a fork continues, if it is not the place of its original."""

    def __init__(self, root: str, place: str, point: str = "") -> None:
        self.root = root
        self.place = place
        self.point = point  # the checkpoint with which the place began


class ConversationPlan:
    """A session and where to cut it. `source` is its transcript, or a temporary copy from the store."""

    def __init__(self, profile: Profile, original: str, source: str, cut: Cut) -> None:
        self.profile = profile
        self.original = original
        self.source = source
        self.cut = cut
        self.identity: tuple[int, int] | None = None  # of the file that was checked; no other file is read
        self.turns: int | None = None  # how many are kept, if that is known
        self.index: TurnIndex | None = None  # if it was opened
        self.fork_place: ForkPlace | None = None
        self.notes: list[str] = []

    @property
    def beside(self) -> str:
        """A path in the directory where the fork is made."""
        if self.fork_place is None:
            return self.original
        folder = folder_for(self.profile, self.fork_place.root, self.original)
        return os.path.join(folder, os.path.basename(self.original))

    def path_of(self, session_id: str) -> str:
        return path_beside(self.beside, session_id, self.profile)

    @property
    def session_id(self) -> str:
        return session_id_of(self.original, self.profile)

    def check(self) -> None:
        """Refuse a cut that the agent could not continue from, before anything is restored."""
        with open_conversation(self.source, self.profile, self.identity) as file:
            self.check_in(file)

    def check_in(self, file: BinaryIO) -> None:
        kind_of(self.profile).check_resumable(file, self.profile, self.cut.placed(file))
        check_client(self.profile)

    def check_format(self) -> None:
        """Refuse an unknown format before anything is restored. Transcripts that are trees are checked when
        they are cut."""
        if self.profile.kind == TREE:
            return
        try:
            self.check()
        except NothingBeforeCut:
            pass  # the format is fine; making a fork reports this

    @property
    def is_from_store(self) -> bool:
        return self.source != self.original

    def close(self) -> None:
        if self.is_from_store:
            os.unlink(self.source)

    def __enter__(self) -> ConversationPlan:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def plan_of_record(state: State, record: Record, *, to_resume: bool = False) -> ConversationPlan:
    """Where a checkpoint cuts its conversation. Close it, because it may have a temporary file. With
    `to_resume`, refuses a cut that the agent could not continue from."""
    data = record.transcript
    if not record.data.get("hasTranscript") or not data:
        raise NoConversation(checkpoint=record.name)
    profile = profile_named(str(data.get("agent")), state.project.home)
    original = _where_now(profile, checked_path(profile, data))
    place, file = _in_original(data, original, profile)
    plan = ConversationPlan(profile, original, original, Cut(0))
    try:
        if file is None:
            plan.source, place = _from_store(state, record, original)
            file = open_conversation(plan.source, profile)
        else:
            plan.identity = identity_of(file)
        with file:
            plan.cut = kind_of(profile).resolve_cut(file, profile, place, record.trigger).marked(file)
            if to_resume:
                plan.check_in(file)
    except BaseException:
        plan.close()
        raise
    if not plan.cut.exact:
        plan.notes.append("The exact position was not found, so the conversation is restored up to where"
                          " the transcript ended when the checkpoint was made.")
    if plan.is_from_store:
        plan.notes.append("The transcript was changed or deleted; using the stored copy.")
    return plan


def checked_path(profile: Profile, data: Transcript) -> str:
    """A path from a record is used only if it is where the agent itself writes."""
    path, session_id = data.get("original_path"), data.get("sessionId")
    if isinstance(path, str) and isinstance(session_id, str) and is_session_id(session_id):
        if not session_id_of(path, profile):
            # The file is gone, and its name contains no session id.
            path = path_beside(path, session_id, profile)
        if session_id_of(path, profile) == session_id:
            check_in_session_directory(profile, path)
            return path
    raise RewindError("The checkpoint does not say which session it belongs to.",
                      hint="Restore its code alone with --code-only.")


def _where_now(profile: Profile, path: str) -> str:
    """The current path of the transcript. The agent may have moved it to the folder of another directory."""
    if os.path.lexists(path):
        return path
    moved = session_anywhere(profile, session_id_of(path, profile), near=path)
    return moved.path if moved else path


def check_in_session_directory(profile: Profile, path: str) -> None:
    from rewind.agents.registry import session_root

    if not is_under_root(profile, path):
        raise NotOurs(path=path, agent=profile.title, root=session_root(profile) or "an agent's home")


def _in_original(data: Transcript, original: str, profile: Profile) -> tuple[int, BinaryIO | None]:
    """Where the checkpoint ends in the agent's own file, and that open file. None if it is another file
    now."""
    cursor = data.get("cursor")
    if not isinstance(cursor, dict):
        return 0, None
    try:
        file = open_conversation(original, profile)
    except RewindError:
        return 0, None
    place = None
    try:
        # Checked again now that it is open, because a link may have taken its place meanwhile.
        ours = is_under_root(profile, original) and _is_still(original, identity_of(file))
        place = place_in(file, cursor) if ours else None
    except RewindError:
        pass
    finally:
        if place is None:
            file.close()
    return (0, None) if place is None else (place, file)


def _is_still(path: str, identity: tuple[int, int]) -> bool:
    try:
        info = os.stat(path)
    except OSError:
        return False
    return identity == (info.st_dev, info.st_ino)


def _from_store(state: State, record: Record, original: str) -> tuple[str, int]:
    """Write the longest stored version that contains this checkpoint, because it has lines that were appended
    late. Returns its path and where the checkpoint ends in it."""
    if snapshot_of(record) is None:
        raise TranscriptNotFound(path=original)
    path = state.project.path(f"temporary-{os.getpid()}-{record.name}.jsonl")
    try:
        for version in (_longest_with(state, record), record):
            _write_version(state, version, path)
            with open_transcript(path) as file:
                place = place_in(file, cursor_of(record))
            if place is not None:
                return path, place
        # The cursor fits no version: the checkpoint's own version counts.
        return path, os.path.getsize(path)
    except BaseException:
        if os.path.lexists(path):
            os.unlink(path)
        raise


def _write_version(state: State, record: Record, path: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    try:
        write_out(state, record, fd)
    finally:
        os.close(fd)


def _longest_with(state: State, record: Record) -> Record:
    own = body_of(record)
    session = record.transcript.get("sessionId")
    versions = []
    for other in state.timeline.all():
        size = (snapshot_of(other) or {}).get("bytes")
        if isinstance(size, int) and body_of(other) and other.transcript.get("sessionId") == session:
            versions.append((size, other.sequence, other))
    # It is nearly always the longest of all, so usually only one chain is read.
    for _, _, other in sorted(versions, reverse=True):
        if own and _contains(state, body_of(other), own):
            return other
    return record


def _contains(state: State, body: bytes | None, wanted: bytes) -> bool:
    try:
        return body is not None and any(link.oid == wanted for link in links_of(state.objects, body))
    except RewindError:
        return False


# doing it

class MadeFork(TypedDict):
    """A fork that was made."""

    session_id: str
    path: str
    title: str
    resume: str  # the command that continues it


class ConversationResult:
    """What happened to the conversation."""

    def __init__(self) -> None:
        self.fork: MadeFork | None = None
        self.backup: str | None = None
        self.effect: Effect | None = None  # for the log
        self.notes: list[str] = []


def make_fork(state: State, plan: ConversationPlan, session_id: str, name: str = "",
              earlier: KnownFork | None = None) -> ConversationResult:
    """Make a fork with this id, which the log knows already. `earlier` is the entry of a shorter fork with
    the same id, which is replaced."""
    done = ConversationResult()
    fork_place = plan.fork_place
    folder = os.path.dirname(plan.beside)
    if not os.path.isdir(folder):
        make_private_dir(folder)  # the agent's directory for this project, or for a new place
    turns = turns_before(state, plan)

    def appears(fork: Fork) -> None:
        """Note the fork before it exists. An entry without a fork does no harm, but a fork without an entry
        does."""
        state.forks().add(_entry_of(state, plan, fork, turns, name, earlier or {}))

    path = plan.path_of(session_id)
    beside = [draft_of(sidecar) for sidecar in sidecar_paths(path, plan.profile)]
    with Unfinished(state.project, temp_of(path), *beside):
        fork = write_fork(plan.source, plan.profile, plan.cut, original=plan.original, session_id=session_id,
                          appears=appears, identity=plan.identity, beside=plan.beside,
                          cwd=fork_place.root if fork_place else "",
                          folder=fork_place.root if fork_place else state.project.root,
                          over=earlier is not None)
    note_in_index(plan.profile, state.forks().find(fork.session_id) or {})
    _name_in_client(state, plan.profile, fork)
    done.fork = {"session_id": fork.session_id, "path": fork.path, "title": fork.title,
                 "resume": resume_command(state, plan.profile, fork.session_id, fork.path)}
    done.effect = {"kind": "fork", "sessionId": fork.session_id, "path": fork.path,
                   "agent": plan.profile.name, "size": fork.size, "header": fork.header}
    done.notes = plan.notes + fork.notes
    return done


def _entry_of(state: State, plan: ConversationPlan, fork: Fork, turns: int | None, name: str,
              earlier: KnownFork) -> KnownFork:
    """The entry of a new fork in `branches.json`."""
    known: KnownFork = {
        "sessionId": fork.session_id, "parentSessionId": plan.session_id, "rewindFromTurn": turns,
        "rewindedAt": iso_time(), "name": name or None, "archived": earlier.get("archived", False),
        "agent": plan.profile.name, "path": fork.path, "size": fork.size, "header": fork.header,
        "cutAt": plan.cut.offset}
    if "shared" in earlier:
        known["shared"] = earlier["shared"]
    place, parent = plan.fork_place, state.forks().find(plan.session_id) or {}
    if place:
        known["dir"], known["place"], known["point"] = place.root, place.place, place.point
    elif parent.get("dir") and parent.get("place"):  # its lines say where the parent was forked
        known["dir"], known["place"] = parent["dir"], parent["place"]
    return known


def _name_in_client(state: State, profile: Profile, fork: Fork) -> None:
    """If an agent keeps titles in its own database, ask its server to set the title."""
    if not profile.commands.get("server"):
        return
    from rewind.agents.app_server import NoAnswer, name_session

    try:
        name_session(profile, fork.session_id, fork.title, state.project.root)
    except NoAnswer:
        pass  # the fork can still be resumed by its id


def turns_before(state: State, plan: ConversationPlan) -> int | None:
    """How many turns are kept; None if counting them would take longer than the fork itself."""
    if plan.turns is not None:
        return plan.turns
    if os.path.getsize(plan.source) > _WORTH_COUNTING:
        return None
    if plan.is_from_store:
        turns = read_index(plan.source, plan.profile).active_turns
        return sum(1 for turn in turns if turn.offset < plan.cut.offset)
    plan.index = open_turns(plan.original, plan.profile, state.derived, plan.identity)
    return sum(1 for row in plan.index.turns(1, plan.index.total) if row.offset < plan.cut.offset)


def number_of_prompt(state: State, left: ConversationPlan, uuid: str) -> int | None:
    """The number of a turn in the conversation that was left; None if a long transcript had to be read for
    it."""
    if left.index is None and os.path.getsize(left.original) <= _WORTH_READING:
        open_turns(left.original, left.profile, state.derived)
    rows = state.derived.query("SELECT turn FROM turns WHERE path=? AND uuid=?", (left.original, uuid))
    return rows[0][0] if rows else None


def note_in_index(profile: Profile, known: KnownFork) -> None:
    """If the agent's directory has an index of its sessions, add the fork to it."""
    folder = os.path.dirname(str(known.get("path")))
    if os.path.exists(os.path.join(folder, INDEX)):
        index = read_index(known["path"], profile)
        first = index.turns[0].prompt if index.turns else ""
        keys = ("parentSessionId", "rewindFromTurn", "rewindedAt")
        add_to_index(folder, {"sessionId": known["sessionId"], "created": known.get("rewindedAt"),
                              "modified": known.get("rewindedAt"), "messageCount": len(index.chain),
                              "firstPrompt": first, **{key: known.get(key) for key in keys}})


def resume_command(state: State, profile: Profile, session_id: str, path: str) -> str:
    """The command that continues a session, from the directory where it began."""
    from shlex import quote

    command = profile.commands["resume"].replace("{session}", session_id)
    if not command:
        return ""
    began = (state.forks().find(session_id) or {}).get("dir")
    if not isinstance(began, str):
        began = began_in(SessionFile(path, profile, os.stat(path)))
    where = began if began and os.path.isdir(began) else state.project.root
    return f"cd {quote(where)} && {command}"


def refuse_if_open(state: State, plan: ConversationPlan, force: bool) -> None:
    check_in_place(plan.profile)
    reason = why_open(plan.profile, plan.session_id, plan.original,
                      recorded_session(state, plan.session_id))
    if reason and not force:
        raise SessionInUse(reason=reason)


def rewrite_in_place(state: State, plan: ConversationPlan, backup: str | None, *,
                     force: bool) -> ConversationResult:
    """Cut a transcript in its own file. Its content is copied to `backup`, which the log knows already."""
    check_in_session_directory(plan.profile, plan.original)
    refuse_if_open(state, plan, force)
    done = ConversationResult()
    done.backup = backup
    with Unfinished(state.project, temp_of(plan.original)):
        rewrite(plan.original, plan.source, plan.profile, plan.cut, backup, lambda: None, plan.identity)
    done.effect = {"kind": "rewrite", "path": plan.original, "agent": plan.profile.name, "backup": backup,
                   **size_header_and_mtime(plan.original), **(backup_checksum(backup) if backup else {})}
    if os.path.exists(os.path.join(os.path.dirname(plan.original), INDEX)):
        update_index(os.path.dirname(plan.original), plan.session_id,
                     {"modified": iso_time(),
                      "messageCount": len(read_index(plan.original, plan.profile).chain)})
    done.notes = plan.notes
    return done


def size_and_mtime(path: str) -> list[int]:
    """Tells later whether a transcript is still as Rewind left it."""
    info = os.stat(path)
    return [info.st_size, info.st_mtime_ns]


def size_header_and_mtime(path: str) -> Effect:
    """The same, with the sizes that tell whether the session was continued."""
    with open_transcript(path) as file:
        return {"made": size_and_mtime(path), "size": size_of(file), "header": header_length(file)}


def free_backup_name(state: State, path: str, taken: set[str | None] | None = None) -> str:
    stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime())
    name = session_id_of(path)
    for number in range(1000):
        target = state.project.path(BACKUPS, f"{stamp}{f'_{number}' if number else ''}-{name}.jsonl")
        if not os.path.lexists(target) and target not in (taken or ()):
            return target
    raise RewindError("There is no free name for a backup of the transcript.")
