"""Stores what was checked: content first, then conversations, then the records, parents before children.

Nothing is overwritten. If the process is killed, what it stored is usable, and a repetition adds the rest:
what is here already is recognised by its id.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rewind.checkpoint.conversations.stored import capture
from rewind.checkpoint.operation_log.operations import ADOPT, APPLY, REVERT
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.save.create import new_record
from rewind.checkpoint.share.giving.mask import PROJECT, Masker
from rewind.checkpoint.share.giving.outgoing import checkpoint_id
from rewind.checkpoint.share.taking.conversations import ReceivedConversation, bring_conversation
from rewind.checkpoint.share.taking.incoming import Checked, InCheckpoint, Incoming, check, objects_of
from rewind.index import MAIN
from rewind.snapshot.trees.tree import Tree
from rewind.store.blobs import pack

if TYPE_CHECKING:
    from rewind.checkpoint.records.record import Code, Trigger

LANE = "@"  # begins the place of foreign checkpoints, which is not a directory


class Added:
    """`records` are the new checkpoints, `known` those that were here before; both are oldest first."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.known: list[Record] = []
        self.conversations: list[ReceivedConversation] = []
        self.notes: list[str] = []
        self.tip: Record | None = None  # the newest of all of them
        self.base: Record | None = None  # the oldest


def check_incoming(state: State, incoming: Incoming) -> Checked:
    """`check` all of it against what is here already."""
    known = _known(state)

    def root_of(id: str) -> bytes | None:
        return known[id][-1].tree if id in known else None

    def stored(oid: bytes) -> Tree:
        return Tree.decode(state.objects.get(oid))

    return check(incoming, root_of, stored, state.objects.has)


def add(state: State, incoming: Incoming, checked: Checked, *, lane: str = "", first: str = MAIN) -> Added:
    """Their lane `first` becomes the place `@LANE`, or this project's own line if `lane` is empty; the names
    of their other lanes follow from it. The caller holds the lock."""
    _store(state, incoming, checked)
    added = Added()
    for conversation in checked.conversations:
        added.conversations.append(bring_conversation(state, conversation, added.notes))
    state.objects.commit()
    state.objects.make_durable(state.on_shared_disk)
    _write_records(state, checked, added, lambda theirs: place_for(lane, theirs, first))
    return added


def _known(state: State) -> dict[str, list[Record]]:
    """The checkpoints here, by the id that they have on every machine."""
    store_id = state.store_info["id"]
    found: dict[str, list[Record]] = {}
    for record in state.timeline.all():
        found.setdefault(checkpoint_id(store_id, record), []).append(record)
    return found


def _store(state: State, incoming: Incoming, checked: Checked) -> None:
    store = state.objects
    # Asked again under the lock: content that was here during the check may have been collected since.
    wanted_now = {oid.hex() for oid in checked.trees.files if not store.has(oid)}
    try:
        for digest, pieces in incoming.contents(wanted_now):
            wanted = bytes.fromhex(digest)
            for oid, data in objects_of(wanted, checked.trees.files[wanted], pieces):
                if not store.has(oid):
                    store.put_packed(oid, pack(data))
        for oid, blob in checked.trees.blobs.items():
            if not store.has(oid):
                store.put_packed(oid, pack(blob))
    except BaseException:
        store.rollback()
        raise


def _write_records(state: State, checked: Checked, added: Added, place: Callable[[str], str]) -> None:
    known = _known(state)
    rules = state.objects.put(state.rules().to_json()).hex()
    names: dict[str, str] = {id: records[-1].name for id, records in known.items()}
    conversations = {received.origin: received for received in added.conversations}
    for one in checked.checkpoints:
        record = next((r for r in known.get(one.id, ()) if not r.shared or r.tree == one.root), None)
        if record:
            added.known.append(record)
        else:
            record = _record(state, checked, one, names, rules, place(one.meta["lane"]),
                             conversations.get(one.meta["session"] or ""))
            added.records.append(record)
        names[one.id] = record.name
        added.base, added.tip = added.base or record, record


def _record(state: State, checked: Checked, one: InCheckpoint, names: dict[str, str], rules: str,
            place: str, conversation: ReceivedConversation | None) -> Record:
    meta, count = one.meta, checked.trees.count(one.root)
    captured = (capture(state, conversation.path, conversation.profile, conversation.end_of(meta["lines"]))
                if conversation and conversation.path and meta["lines"] else None)
    state.objects.commit()
    code: Code = {"format": "objects", "tree": one.root.hex(), "rules": rules, "fileCount": count.files,
                  "totalSize": count.bytes, "newBytes": 0, "uncovered": count.uncovered}
    kept: Any = {key: value for key, value in meta["trigger"].items()
                 if value not in (REVERT, APPLY, ADOPT)}  # these refer to the log of the other project
    trigger: Trigger = kept
    if meta["session"]:
        trigger["session"] = conversation.session if conversation else meta["session"]
    home = Masker(PROJECT, state.project.root, with_secrets=True)
    if "promptText" in trigger:
        trigger["promptText"] = home.text(trigger["promptText"])
    record = new_record(state, _kind(meta["kind"]), home.text(meta["description"]), code, {
        "createdAt": meta["createdAt"], "trigger": trigger, "place": place,
        "parent": names.get(meta["parent"] or ""), "hasTranscript": captured is not None,
        "transcript": captured.data if captured else None,
        "shared": {"id": one.id, "name": meta["name"], "lane": meta["lane"],
                   "addedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}})
    state.files.write(record)
    if captured:
        captured.remember(state)
    state.timeline.add(record)
    return record


def _kind(kind: str) -> str:
    """The kinds `backup` and `initial` mean something only where the checkpoint was made."""
    return kind if kind in ("auto", "manual") else "auto"


def place_for(lane: str, theirs: str, first: str = MAIN) -> str:
    """The place here of one of their lanes."""
    if not lane:
        return MAIN if theirs == first else LANE + theirs
    return LANE + lane + ("" if theirs == first else f"-{theirs}")
