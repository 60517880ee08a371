"""All checkpoints in order. The ways to name one are in `select`."""

from __future__ import annotations

from rewind.checkpoint.records.record import Record, RecordFiles, noted_place
from rewind.errors import CheckpointNotFound, RewindError
from rewind.fast import quickjson
from rewind.index import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.store.derived import DerivedDb

# Raised by a row of the index that is valid JSON but not a record.
_BAD_ROW = (TypeError, KeyError, ValueError, AttributeError)
_LAST = 20  # the wanted record is nearly always one of this many
NEWEST = "newest"  # a fact: the newest checkpoint that was made
_INSERT = "INSERT OR REPLACE INTO records VALUES(?,?,?,?,?)"


class Brief:
    """The fields of a checkpoint that lists show, a quarter of the record. With 1,000 checkpoints, `rewind
    list` would take 65 ms of CPU time instead of 58 with whole records, and `list --checkpoints` 50 instead
    of 40."""

    FIELDS = ("sequence", "name", "created", "kind", "event", "tool", "has_conversation", "new_bytes",
              "session", "description", "version", "parent", "place", "imported", "restored", "tree",
              "prompt_id", "prompt", "cursor", "pinned", "label")
    __slots__ = FIELDS

    def __init__(self, sequence: int, name: str, created: float, kind: str, event: str | None,
                 tool: str | None, has_conversation: bool, new_bytes: int, session: str | None,
                 description: str, version: int, parent: str | None, place: str, imported: bool,
                 restored: str | None, tree: str, prompt_id: str | None, prompt: str, cursor: int,
                 pinned: bool, label: str) -> None:
        self.sequence = sequence
        self.name = name
        self.created = created
        self.kind = kind
        self.event = event
        self.tool = tool
        self.has_conversation = has_conversation
        self.new_bytes = new_bytes
        self.session = session
        self.description = description
        self.version = version
        self.parent = parent
        self.place = place
        self.imported = imported
        self.restored = restored
        self.tree = tree
        self.prompt_id = prompt_id
        self.prompt = prompt  # its first characters
        self.cursor = cursor  # the offset at which the transcript ended
        self.pinned = pinned
        self.label = label  # a person's name for a checkpoint that a hook made


def brief(record: Record) -> Brief:
    event, tool, new = record.trigger.get("event"), record.trigger.get("tool"), record.code.get("newBytes")
    return Brief(record.sequence, record.name, record.created, record.kind,
                 str(event) if event else None, str(tool) if tool else None,
                 bool(record.data.get("hasTranscript")), new if isinstance(new, int) else 0,
                 record.session, record.description, record.version, record.parent, record.place,
                 record.imported, record.restored, record.code["tree"], _text(record, "promptId") or None,
                 _text(record, "promptText"), noted_place(record),
                 bool(record.data.get("pinned")), _label(record))


def _label(record: Record) -> str:
    named = record.data.get("described") or record.kind == "manual"
    return record.description if named and record.trigger.get("event") else ""


def _text(record: Record, key: str) -> str:
    found = record.trigger.get(key)
    return found if isinstance(found, str) else ""


class Timeline:
    """The records, oldest first. An index saves reading each file. It is checked on every use."""

    def __init__(self, files: RecordFiles, derived: DerivedDb, place: str = MAIN) -> None:
        self.files = files
        self.place = place
        self._derived = derived
        self._loaded: list[Record] | None = None
        self.damaged: dict[str, RewindError] = {}

    def all(self) -> list[Record]:
        if self._loaded is None:
            self._loaded = self._repaired(self._records)
        return self._loaded

    def _records(self) -> list[Record]:
        known, read = self._load("summary")
        return sorted([Record(data) for data in known] + read, key=lambda r: r.sequence)

    def _repaired(self, read: Callable[[], list[Any]]) -> list[Any]:
        """Read once more without the index if that one is damaged."""
        try:
            return read()
        except _BAD_ROW:
            self._derived.forget_everything()
            return read()

    def add(self, record: Record) -> None:
        stamp = self.files.stamp(record.name)
        newest: list[tuple[object, ...]] = [(NEWEST, record.name)]
        self._derived.write([(_INSERT, [_row(record, stamp)]),
                             ("INSERT OR REPLACE INTO facts VALUES(?, ?)", newest)] if stamp else [])
        self._loaded = None

    def write(self, record: Record) -> None:
        """Create or replace the record of a checkpoint. Its content must be durable before this."""
        self.files.write(record)
        self.add(record)

    def last_sequence(self) -> int:
        newest = self.newest()
        return newest.sequence if newest else 0

    def shown(self, current: Record | None = None) -> list[Record]:
        """What `list` shows: the checkpoints of this place, newest first, without backups except the one that
        the project stands on. Imported checkpoints belong to no place and are shown in all places."""
        name = current.name if current else ""
        return [r for r in reversed(self.all())
                if (r.kind != "backup" and self.belongs_here(r)) or r.name == name]

    def belongs_here(self, record: Record | Brief) -> bool:
        return record.place == self.place or record.imported

    def newest(self) -> Record | None:
        found = self._indexed("ORDER BY sequence DESC LIMIT 1")
        records = found or self.all()
        return records[-1] if records else None

    def newest_here(self, accept: Callable[[Record], bool] = lambda record: True) -> Record | None:
        """The newest checkpoint of this place that is accepted. It is nearly always one of the last few."""
        found = self._indexed(f"WHERE instr(summary, ?) ORDER BY sequence DESC LIMIT {_LAST}",
                              (_place_as_json(self.place),)) or []
        for record in found:
            if record.place == self.place and accept(record):
                return record
        if len(found) not in (0, _LAST):
            return None
        return next((r for r in reversed(self.all()) if r.place == self.place and accept(r)), None)

    def with_sequence(self, sequence: int) -> Record | None:
        found = self._indexed("WHERE sequence=?", (sequence,)) or self.all()
        return next((record for record in found if record.sequence == sequence), None)

    def has_tree(self, oid: bytes) -> bool:
        """Whether some checkpoint has exactly this tree. The index tells, because the tree of a record never
        changes."""
        found = self._indexed("WHERE instr(summary, ?) LIMIT 1", (oid.hex(),))
        return any(r.tree == oid for r in (self.all() if found is None else found))

    def _indexed(self, which: str, values: tuple[object, ...] = ()) -> list[Record] | None:
        """Records from the index alone; None if the index may be out of date and all records must be read."""
        if self._loaded is not None:
            return None
        if self._derived.query("SELECT count(*), max(name) FROM records") != [self.files.extent()]:
            return None
        rows = self._derived.query(f"SELECT name, stamp, summary FROM records {which}", values)
        try:
            if all(self.files.stamp(name) == stamp for name, stamp, _ in rows):
                return [_checked(Record(quickjson.loads(summary))) for _, _, summary in rows]
        except _BAD_ROW:
            pass  # reading all records repairs the index
        return None

    def sweep(self) -> None:
        """Remove names that a killed process reserved and never used: they would keep the index out of date
        for ever. The caller holds the lock. Skipped unless all records had to be read anyway."""
        if self._loaded is not None:
            self.files.sweep(self.known_names())

    def known_names(self) -> set[str]:
        """All names in the index. One without a record file has lost it, and `validate` can bring it back."""
        return {name for (name,) in self._derived.query("SELECT name FROM records")}

    def briefs(self) -> list[Brief]:
        """All checkpoints, newest first."""
        return self._repaired(self._briefs)

    def _briefs(self) -> list[Brief]:
        known, read = self._load("brief")
        found = [Brief(*values) for values in known] + [brief(record) for record in read]
        return sorted(found, key=lambda b: b.sequence, reverse=True)

    def _load(self, column: str) -> tuple[list[Any], list[Record]]:
        """One column of the rows that are up to date, and the records that had to be read."""
        stamps = self.files.stamps()
        rows = self._derived.query(f"SELECT name, stamp, {column} FROM records")
        fresh = [row for row in rows if stamps.get(row[0]) == row[1]]
        # One call for all rows: with a thousand records this is a large part of `rewind list`.
        try:
            found = quickjson.loads("[" + ",".join([text for _, _, text in fresh]) + "]")
        except ValueError:
            found, fresh = [], []  # a damaged index: read the records themselves
        if len(fresh) == len(rows) == len(stamps):
            return found, []
        indexed = {name for name, _, _ in fresh}
        missing = [name for name in stamps if name not in indexed]
        # The row of a damaged or lost record stays: it is the only other copy.
        stale: list[tuple[object, ...]] = [(n,) for n, _, _ in rows
                                           if n not in indexed and not self.files.is_reserved(n)]
        return found, self._read(missing, stamps, stale)

    def _read(self, names: list[str], stamps: dict[str, str],
              stale: list[tuple[object, ...]]) -> list[Record]:
        records = []
        rows: list[tuple[object, ...]] = []
        for name in names:
            try:
                record = self.files.read(name)
            except CheckpointNotFound:
                continue  # deleted since the directory was listed
            except RewindError as error:
                self.damaged[name] = error
                continue
            records.append(record)
            rows.append(_row(record, stamps[name]))
        self._derived.write([("DELETE FROM records WHERE name=?", stale), (_INSERT, rows)])
        return records


def _checked(record: Record) -> Record:
    """Raises one of `_BAD_ROW` if the row is not a record."""
    if not isinstance(record.sequence + 0, int) or not isinstance(record.kind + record.place, str):
        raise ValueError
    return record


def _place_as_json(place: str) -> str:
    """How the JSON of a record in the index contains its place."""
    return f'"place": {quickjson.dumps(place)}'


def _row(record: Record, stamp: str) -> tuple[object, ...]:
    short = brief(record)
    return (record.name, stamp, quickjson.dumps(record.data), record.sequence,
            quickjson.dumps([getattr(short, field) for field in Brief.FIELDS]))
