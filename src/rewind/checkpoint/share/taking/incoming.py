"""What comes from another machine: the counterpart of `outgoing`, read from a source that is not trusted.

`check` reads all of it and writes nothing. `add` (in `take_over.py`) stores what `check` has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewind.checkpoint.records.record import KINDS, is_hex, is_name, is_timestamp
from rewind.checkpoint.share.entries import FORMAT, decode_entry, digest_of
from rewind.checkpoint.share.giving.outgoing import LANE_LETTERS, LONGEST_LANE
from rewind.checkpoint.share.taking.tree_builder import TreeBuilder
from rewind.errors import ArchiveRefused, FormatTooNew
from rewind.fast.sha256 import sha256
from rewind.jsonfile import JsonObject
from rewind.snapshot.trees.tree import Tree, encode_pieces
from rewind.store.blobs import CHUNK, oid_of
from rewind.transcript.names import is_session_id

if TYPE_CHECKING:
    from rewind.checkpoint.records.record import Trigger
    from rewind.checkpoint.share.giving.outgoing import Meta

MAX_CHECKPOINTS = 100_000
MAX_ENTRIES = 5_000_000
MAX_CONVERSATIONS = 1000
_LONGEST_DESCRIPTION = 1000
_LONGEST_TEXT = 300
_TRIGGER = ("event", "tool", "promptId", "toolUseId", "promptText")


@dataclass(eq=False)
class InConversation:
    """A conversation from another machine. `read` can be called several times."""

    session: str
    agent: str
    title: str
    lines: int
    read: Callable[[], Iterator[bytes]]


class Incoming:
    """What each source (a shared file, a remote) implements. It need not check anything.

    `label` names it in messages, and `format` is its version. `conversations` yields dicts with `session`,
    `agent`, `title`, `lines` and `read`. `checkpoints` yields (meta, entries), oldest first: `meta` is like
    `OutCheckpoint.meta`, and `entries` are the changes since the parent, as `encode_entry` writes them.
    `contents(wanted)` yields (digest, pieces) for those of the wanted files that it has; it is called twice.
    """

    label = ""
    format: Any = FORMAT

    def conversations(self) -> Iterable[JsonObject]:
        return ()

    def checkpoints(self) -> Iterable[tuple[Any, Iterable[Any]]]:
        raise NotImplementedError

    def contents(self, wanted: set[str]) -> Iterator[tuple[str, Iterable[bytes]]]:
        raise NotImplementedError


@dataclass(eq=False)
class InCheckpoint:
    """A checkpoint that was checked: its description and its tree."""

    meta: Meta
    root: bytes

    @property
    def id(self) -> str:
        return str(self.meta["id"])


class Checked:
    """Everything that was read, all of it checked."""

    def __init__(self, trees: TreeBuilder) -> None:
        self.trees = trees
        self.checkpoints: list[InCheckpoint] = []
        self.conversations: list[InConversation] = []


def check(incoming: Incoming, known_root: Callable[[str], bytes | None] = lambda id: None,
          stored: Callable[[bytes], Tree] | None = None,
          has: Callable[[bytes], bool] = lambda oid: False) -> Checked:
    """Read everything, and refuse all of it for one offence. A parent may be a checkpoint that is here
    already: `known_root` returns its tree, and `stored` reads trees. `has` says which content is here."""
    checked = Checked(TreeBuilder(stored))
    try:
        _check_format(incoming)
        _read_conversations(incoming, checked)
        _read_checkpoints(incoming, checked, known_root)
        _check_contents(incoming, checked.trees.files, has)
    except ValueError as error:
        raise ArchiveRefused(file=incoming.label, reason=f"{error}.")
    return checked


def _check_format(incoming: Incoming) -> None:
    if type(incoming.format) is not int or incoming.format < 1:
        raise ValueError("it does not say its format")
    if incoming.format > FORMAT:
        raise FormatTooNew(what=incoming.label, found=incoming.format, known=FORMAT)


def _read_conversations(incoming: Incoming, checked: Checked) -> None:
    for value in incoming.conversations():
        session, agent, lines = value.get("session"), value.get("agent"), value.get("lines")
        if not isinstance(session, str) or not is_session_id(session):
            raise ValueError("the id of a session in it is malformed")
        if not isinstance(agent, str) or not 0 < len(agent) <= 40 or not LANE_LETTERS.issuperset(agent):
            raise ValueError("the name of an agent in it is malformed")
        if type(lines) is not int or lines < 0 or any(c.session == session for c in checked.conversations):
            raise ValueError(f"the conversation {session} in it is malformed")
        title = value.get("title")
        checked.conversations.append(InConversation(
            session, agent, title[:_LONGEST_TEXT] if isinstance(title, str) else "", lines, value["read"]))
        if len(checked.conversations) > MAX_CONVERSATIONS:
            raise ValueError(f"it holds more than {MAX_CONVERSATIONS} conversations")
    for conversation in checked.conversations:
        if sum(piece.count(b"\n") for piece in conversation.read()) != conversation.lines:
            raise ValueError(f"the conversation {conversation.session} in it is not complete")


def _read_checkpoints(incoming: Incoming, checked: Checked,
                      known_root: Callable[[str], bytes | None]) -> None:
    roots: dict[str, bytes] = {}
    entries = 0
    for meta, values in incoming.checkpoints():
        sound = _meta(meta)
        if sound["id"] in roots:
            raise ValueError(f"it holds the checkpoint {sound['id']} twice")
        parent = sound["parent"]
        # A parent comes before its children, so parents cannot form a ring.
        root = None if parent is None else roots.get(parent) or known_root(parent)
        if parent is not None and root is None:
            raise ValueError(f"the parent of its checkpoint {sound['id']} is missing")
        changes = [decode_entry(value) for value in values]
        entries += len(changes)
        if entries > MAX_ENTRIES or len(roots) >= MAX_CHECKPOINTS:
            raise ValueError(f"it holds more than {MAX_ENTRIES} entries or {MAX_CHECKPOINTS} checkpoints")
        roots[sound["id"]] = checked.trees.apply(root, changes)
        checked.checkpoints.append(InCheckpoint(sound, roots[sound["id"]]))


def _meta(value: Any) -> Meta:
    """A stranger's description of a checkpoint, checked; optional fields that are malformed are dropped."""
    if not isinstance(value, dict):
        raise ValueError("a checkpoint in it is malformed")
    parent, lane, created = value.get("parent"), value.get("lane"), value.get("createdAt")
    if not (is_hex(value.get("id"), 32) and (parent is None or is_hex(parent, 32))):
        raise ValueError("the id of a checkpoint in it is malformed")
    if not isinstance(created, str) or len(created) > 40 or not is_timestamp(created):
        raise ValueError("the time of a checkpoint in it is malformed")
    if value.get("kind") not in KINDS:
        raise ValueError("the kind of a checkpoint in it is unknown")
    if not isinstance(lane, str) or not 0 < len(lane) <= LONGEST_LANE or not LANE_LETTERS.issuperset(lane):
        raise ValueError("the lane of a checkpoint in it is malformed")
    name, text, session = value.get("name"), value.get("description"), value.get("session")
    lines = value.get("lines")
    return {"id": value["id"], "parent": parent, "lane": lane, "createdAt": created, "kind": value["kind"],
            "name": name if isinstance(name, str) and len(name) < 40 and is_name(name) else "",
            "description": text[:_LONGEST_DESCRIPTION] if isinstance(text, str) else "",
            "trigger": _trigger(value.get("trigger")),
            "session": session if isinstance(session, str) and is_session_id(session) else None,
            "lines": lines if type(lines) is int and lines >= 0 else None}


def _trigger(value: Any) -> Trigger:
    found = value if isinstance(value, dict) else {}
    texts: Any = {key: found[key][:_LONGEST_TEXT] for key in _TRIGGER if isinstance(found.get(key), str)}
    kept: Trigger = texts
    if found.get("late") is True:
        kept["late"] = True
    return kept


# content

def _check_contents(incoming: Incoming, files: dict[bytes, int], has: Callable[[bytes], bool]) -> None:
    missing = {oid.hex() for oid in files if not has(oid)}
    for digest, pieces in incoming.contents(set(missing)):
        wanted = digest_of(digest)
        for _ in objects_of(wanted, files[wanted], pieces):
            pass
        missing.discard(digest)
    if missing:
        raise ValueError(f"it lacks the content {min(missing)}, which a file of it has")


def objects_of(wanted: bytes, size: int, pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The objects (id, content) that a file becomes in the store. ValueError if it is another file."""
    chunks: list[tuple[int, bytes]] = []
    total = 0
    for data in _in_chunks(pieces):
        total += len(data)
        if total > size:
            break
        chunks.append((len(data), oid_of(data)))
        yield chunks[-1][1], data
    if not chunks:
        chunks = [(0, oid_of(b""))]
        yield chunks[0][1], b""
    listed = encode_pieces(chunks)
    found = chunks[0][1] if size <= CHUNK else sha256(listed)
    if total != size or found != wanted:
        raise ValueError(f"the content {wanted.hex()} is not what its id says")
    if size > CHUNK:
        yield found, listed


def _in_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        rest += piece
        while len(rest) >= CHUNK:
            yield rest[:CHUNK]
            rest = rest[CHUNK:]
    if rest:
        yield rest
