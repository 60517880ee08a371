"""`metadata.json`: what a checkpoint is, apart from its content."""

from __future__ import annotations

import os
import time

from rewind.errors import CheckpointNotFound, FormatTooNew, RewindError, StoreDamaged
from rewind.fast import quickjson
from rewind.files import draft_of, fsync_dir, read_bounded, stamp_of, write_atomic
from rewind.index import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

    from rewind.jsonfile import JsonObject

    class Trigger(TypedDict, total=False):
        """Why a checkpoint was made, and the keys that find its place in the conversation. A trigger that was
        read from disk is only known to be an object, so check the type of each member."""

        event: str
        checkpoint: str
        turns: list[str]
        session: str
        tool: str
        file: str
        promptId: str
        promptText: str
        toolUseId: str
        messageId: str
        source: str
        subagent: str
        late: bool

    class Code(TypedDict, total=False):
        """The project's files in a checkpoint. Every record is checked for the first three members."""

        format: str
        tree: str
        rules: str
        fileCount: int
        totalSize: int
        newBytes: int
        uncovered: int
        torn: list[str]  # databases that were written faster than they could be copied
        lost: int  # files that could not be rescued
        was: str  # the tree before that

    class StoredConversation(TypedDict, total=False):
        """Where the conversation is stored: `header` and `body` are objects; `file` is a file of an
        archive."""

        header: str
        body: str
        file: str
        bytes: int

    class Transcript(TypedDict, total=False):
        """The conversation of a checkpoint. Check the type of each member, as with `Trigger`."""

        agent: str
        original_path: str
        sessionId: str
        snapshot: StoredConversation
        cursor: Mapping[str, object]  # see `transcript/place/cursor.py`

    class Shared(TypedDict, total=False):
        """The names that a checkpoint of somebody else had where it was made."""

        id: str
        name: str
        lane: str
        addedAt: str

    class OutsideFile(TypedDict, total=False):
        """A file outside the project, as `records/outside.py` writes it and reads it back."""

        path: str
        mode: int
        size: int
        ref: str
        pieces: bool
        absent: bool
        skipped: str

    class Outside(TypedDict, total=False):
        """The fields of a record with such files."""

        outside: list[OutsideFile]
        madeBy: str

    class Origin(TypedDict):
        """The name, time and kind that an imported record had in its archive."""

        name: str | None
        createdAt: str | None
        kind: str | None

    class Fields(Outside, total=False):
        """The fields that code outside this file sets in a record."""

        createdAt: str
        description: str
        described: bool
        kind: str
        pinned: bool
        trigger: Trigger
        parent: str | None
        place: str
        git: Mapping[str, object] | None
        hasTranscript: bool
        transcript: Transcript | None
        shared: Shared
        imported: Origin

FORMAT = 2  # in format 1, `parent` was the newest checkpoint, whatever the tree came from
METADATA = "metadata.json"
ARCHIVE = "snapshot.tar.gz"
KINDS = ("auto", "manual", "initial", "backup")
_MAX_METADATA = 1 << 20


class Record:
    """The metadata of one checkpoint. Fields that this version does not know are kept."""

    __slots__ = ("data",)

    def __init__(self, data: JsonObject) -> None:
        self.data = data

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def sequence(self) -> int:
        return int(self.data["sequence"])

    @property
    def version(self) -> int:
        """The format that it was written in."""
        found = self.data.get("format")
        return found if isinstance(found, int) else 1

    @property
    def parent(self) -> str | None:
        """The checkpoint that the tree stood on when this one was made. `lineage` also finds the parents of
        records of format 1."""
        found = self.data.get("parent")
        return found if isinstance(found, str) else None

    @property
    def place(self) -> str:
        """The work tree that it was made in."""
        found = self.data.get("place")
        return found if isinstance(found, str) else MAIN

    @property
    def imported(self) -> bool:
        """Whether it came from an archive or another user, so it never was a state of this project."""
        return bool(self.data.get("imported"))

    @property
    def shared(self) -> Shared | None:
        """For a checkpoint that came with `open` or `remote pull`: its id, name and lane at its origin."""
        found: Shared | None = self.data.get("shared")
        return found if isinstance(found, dict) else None

    @property
    def restored(self) -> str | None:
        """For a backup: the checkpoint that was restored next."""
        found = self.trigger.get("checkpoint")
        return found if isinstance(found, str) else None

    @property
    def created_at(self) -> str:
        return str(self.data["createdAt"])

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def description(self) -> str:
        return str(self.data.get("description") or "")

    @property
    def trigger(self) -> Trigger:
        return self.data.get("trigger") or {}

    @property
    def code(self) -> Code:
        code: Code = self.data["code"]
        return code

    @property
    def format(self) -> str:
        return str(self.code["format"])

    @property
    def tree(self) -> bytes:
        return bytes.fromhex(self.code["tree"])

    @property
    def rules(self) -> bytes:
        return bytes.fromhex(self.code["rules"])

    @property
    def created(self) -> float:
        """Seconds since the epoch."""
        return timestamp(self.created_at)

    @property
    def added(self) -> float:
        """When it came to this store. A shared checkpoint was made earlier than that."""
        added = seconds_of((self.shared or {}).get("addedAt"))
        return self.created if added is None else added

    @property
    def transcript(self) -> Transcript:
        """What the record says about the conversation; empty if it has none."""
        found: Transcript | None = self.data.get("transcript")
        return found if isinstance(found, dict) else {}

    @property
    def session(self) -> str | None:
        """The agent's session that it was made in, if there was one."""
        session = self.trigger.get("session") or self.transcript.get("sessionId")
        return session if isinstance(session, str) else None

    def encode(self) -> bytes:
        return quickjson.dump_file(self.data)


def is_name(text: str) -> bool:
    """Whether it has the form YYYYmmdd_HHMMSS_NNN. Other texts are never used in a path."""
    return (len(text) >= 19 and text[8] == text[15] == "_" and text.isascii()
            and text.replace("_", "").isdigit() and text.count("_") == 2)


def decode_record(name: str, raw: bytes) -> Record:
    try:
        data = quickjson.loads(raw)
    except (ValueError, RecursionError):
        raise StoreDamaged(what=f"the metadata of {name} is not valid JSON",
                           hint=_DAMAGED_HINT.format(name=name))
    problem = _problem(name, data)
    if problem:
        raise StoreDamaged(what=f"the metadata of {name} {problem}",
                           hint=_DAMAGED_HINT.format(name=name))
    return Record(data)


_DAMAGED_HINT = ("The other checkpoints are not affected. `rewind validate --deep` says what is left"
                 " of it: {name}")


def _problem(name: str, data: Any) -> str:
    if not isinstance(data, dict):
        return "is not an object"
    found = data.get("format")
    if isinstance(found, int) and found > FORMAT:
        raise FormatTooNew(what=f"Checkpoint {name}", found=found, known=FORMAT)
    if data.get("name") != name:
        return "is of another checkpoint"
    code = data.get("code")
    wanted = {"sequence": int, "createdAt": str, "kind": str}
    for key, kind in wanted.items():
        if not isinstance(data.get(key), kind):
            return f"lacks a usable {key!r}"
    if not is_timestamp(data["createdAt"]):
        return "has an unreadable 'createdAt'"
    if not isinstance(code, dict) or code.get("format") not in ("objects", "archive"):
        return "has no usable 'code'"
    if not (is_hex(code.get("tree"), 64) and is_hex(code.get("rules"), 64)):
        return "names no tree"
    if not isinstance(data.get("trigger") or {}, dict):
        return "has an unreadable 'trigger'"
    return ""


def is_hex(value: object, length: int) -> bool:
    """Whether it is a text of that many hexadecimal digits, as ids are."""
    return isinstance(value, str) and len(value) == length and not value.strip("0123456789abcdef")


def is_timestamp(text: str) -> bool:
    try:
        timestamp(text)
    except (ValueError, IndexError):
        return False
    return True


def seconds_of(stamp: object) -> float | None:
    """Like `timestamp`, but None if it is not a timestamp."""
    return timestamp(stamp) if isinstance(stamp, str) and is_timestamp(stamp) else None


def iso_time(seconds: float | None = None) -> str:
    """The text that `timestamp` reads; for the current time if nothing is given."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def iso_time_ms(seconds: float) -> str:
    """The same with milliseconds."""
    return f"{iso_time(seconds)[:-1]}.{int(seconds % 1 * 1e3):03d}Z"


def timestamp(text: str) -> float:
    """`2026-11-15T10:15:02…Z` as seconds since the epoch; `time.strptime` would cost 3 ms of imports."""
    hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    if text[10] + text[13] + text[16] != "T::" or hour > 23 or minute > 59 or second > 60:
        raise ValueError(text)
    return _midnight(text[:10]) + hour * 3600 + minute * 60 + second


def _midnight(text: str) -> float:
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    if text[4] + text[7] != "--" or not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError(text)
    shifted = year - (month < 3)  # years that begin in March put the leap day last
    days = (365 * shifted + shifted // 4 - shifted // 100 + shifted // 400
            + (153 * ((month + 9) % 12) + 2) // 5 + day - 719469)
    return days * 86400.0


def session_of(record: Record) -> Any:
    return record.transcript.get("sessionId") or record.trigger.get("session")


def cursor_of(record: Record) -> JsonObject:
    """Where its transcript ended, in the form for `place_in`; empty if it has none."""
    cursor = record.transcript.get("cursor")
    return cursor if isinstance(cursor, dict) else {}


def noted_place(record: Record) -> int:
    """The offset at which the transcript ended when the checkpoint was made."""
    place = cursor_of(record).get("byte_offset_end")
    return place if isinstance(place, int) else 0


def prompt_start(text: object) -> str:
    """The first characters of a prompt, by which records and transcripts are compared."""
    return " ".join(text.split())[:100] if isinstance(text, str) else ""


def _read(name: str, path: str) -> Record:
    try:
        raw = read_bounded(path, _MAX_METADATA)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointNotFound(name=name)
    except RewindError as error:
        raise StoreDamaged(what=error.message)
    except OSError as error:
        raise StoreDamaged(what=f"the metadata of {name} cannot be read: {error.strerror}")
    return decode_record(name, raw)


class RecordFiles:
    """The directory `checkpoints/`: one directory per record, which exists once its metadata does."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._last: tuple[object, Record] | None = None  # the record read last, and the stamp of its file

    def path(self, name: str, file: str = METADATA) -> str:
        if not is_name(name):
            raise CheckpointNotFound(name=name)
        return os.path.join(self.folder, name, file)

    def reserve(self, now: float, after: str) -> str:
        """Reserve a new name by making its directory. It is later than `after`, the last one deleted, so that
        no name is used twice."""
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(now))
        if not os.path.isdir(self.folder):
            os.mkdir(self.folder, 0o700)  # without its parents: a removed project stays removed
        for number in range(1, 100_000):
            name = f"{stamp}_{number:03d}"
            if after.startswith(stamp) and name <= after:
                continue
            try:
                os.mkdir(os.path.join(self.folder, name), 0o700)
            except FileExistsError:
                continue
            return name
        raise RewindError("There is no free name for a checkpoint in this second.")

    def write(self, record: Record) -> None:
        """The record makes the checkpoint exist, so its content must be durable before this. The draft is in
        the state directory: every save sweeps that one, but not the directories of all checkpoints."""
        from rewind.checkpoint.records.seal import sealed  # not for `list`

        record.data = sealed(record.data)
        write_atomic(self.path(record.name), record.encode(),
                     draft=draft_of(os.path.join(os.path.dirname(self.folder), METADATA)))
        fsync_dir(self.folder)

    def read(self, name: str) -> Record:
        path = self.path(name)
        stamp = stamp_of(path)
        if stamp is None or self._last is None or self._last[0] != (name, stamp):
            self._last = (name, stamp), _read(name, path)
        return self._last[1]

    def find(self, name: str) -> Record | None:
        """None if there is none or it cannot be read. To learn why, use `read`."""
        try:
            return self.read(name)
        except RewindError:
            return None

    def extent(self) -> tuple[int, str | None]:
        """The number of directories and the last name. Some may never have become a checkpoint."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            names = []
        return len(names), max(names, default=None)

    def is_reserved(self, name: str) -> bool:
        """Whether there is a directory of this name, with or without a record in it."""
        return os.path.isdir(f"{self.folder}/{name}")

    def stamp(self, name: str) -> str:
        """A text that changes with the file; empty if there is no file."""
        try:
            st = os.stat(f"{self.folder}/{name}/{METADATA}")
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return f"{st.st_mtime_ns} {st.st_size} {st.st_ino}"

    def stamps(self) -> dict[str, str]:
        """Name -> stamp, for every record. Includes foreign directories, which `read` refuses."""
        # The same as `stamp` in one loop, because there may be ten thousand records. Paths are relative to
        # the directory, because its own path is long.
        found: dict[str, str] = {}
        try:
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return found
        try:
            for name in os.listdir(fd):
                try:
                    st = os.stat(f"{name}/{METADATA}", dir_fd=fd)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                found[name] = f"{st.st_mtime_ns} {st.st_size} {st.st_ino}"
        finally:
            os.close(fd)
        return found

    def delete(self, name: str) -> None:
        """The metadata is deleted first: from then on the checkpoint does not exist."""
        folder = os.path.dirname(self.path(name))
        for file in (METADATA, *sorted(os.listdir(folder))):
            try:
                os.unlink(os.path.join(folder, file))
            except FileNotFoundError:
                continue
        os.rmdir(folder)

    def sweep(self, kept: set[str]) -> None:
        """Remove directories that a killed process left and that never became a checkpoint."""
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else ():
            if is_name(name) and name not in kept and not os.path.exists(self.path(name)):
                self.delete(name)
