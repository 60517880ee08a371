"""Transcripts in the store: only new bytes are stored, and what comes out is what went in, byte for byte."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_scene import Scene
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.links import body_of, header_of, links_of
from rewind.checkpoint.conversations.stored import capture, write_out
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.records.record import Record
from rewind.controller import Controller
from rewind.errors import StoreDamaged

cli = in_process.cli  # the fixture
BIG = "x" * 30_000


class Chat(Scene):
    """A scene whose checkpoints are looked into."""

    def saved(self, path: Optional[Path] = None) -> tuple[Record, int]:
        """A checkpoint, and how many bytes of conversation were stored for it."""
        before = self.stored()
        return self.save(path=path), self.stored() - before

    def stored(self) -> int:
        """The size of all that the records' conversations consist of; what they share counts once."""
        controller = self.controller()
        store = controller.state.objects
        found = {}
        for record in controller.list_checkpoints(backups=True):
            header, body = header_of(record), body_of(record)
            if header and body:
                found[header] = len(store.get(header))
                for link in links_of(store, body):
                    found.update({piece: len(store.get(piece)) for piece in link.pieces})
        return sum(found.values())

    def out(self, record: Record) -> bytes:
        """The transcript as the store has it."""
        path = self.cli.home / "out"
        with open(path, "wb") as file:
            write_out(self.controller().state, record, file.fileno())
        return path.read_bytes()


@pytest.fixture
def chat(cli: InProcess) -> Chat:
    return Chat(cli)


@pytest.fixture
def droid(cli: InProcess) -> Chat:
    return Chat(cli, "droid")


# only what is new

def test_a_grown_transcript_costs_what_it_grew_by(chat: Chat) -> None:
    chat.say(*(f"{n} {BIG}" for n in range(8)))
    first, size = chat.saved()
    assert size == chat.path.stat().st_size
    chat.say("one more")
    second, grown = chat.saved()
    assert 0 < grown == len(chat.path.read_bytes()) - first.data["transcript"]["cursor"]["byte_offset_end"]
    assert chat.out(second) == chat.path.read_bytes() and chat.path.read_bytes().startswith(chat.out(first))


def test_an_unchanged_transcript_costs_nothing(chat: Chat) -> None:
    chat.say("one", "two")
    chat.saved()
    record, size = chat.saved()
    assert size == 0 and chat.out(record) == chat.path.read_bytes()


def test_after_droid_rewrote_line_1_only_that_line_is_new(droid: Chat) -> None:
    droid.say(*(f"{n} {BIG}" for n in range(4)))
    first, _ = droid.saved()
    before = droid.path.read_bytes()
    head, body = before.split(b"\n", 1)
    head = head.replace(b"A talk", b"A far longer title that the agent found later")
    droid.path.write_bytes(head + b"\n" + body)
    second, size = droid.saved()
    assert size == len(head) + 1
    assert droid.out(second) == droid.path.read_bytes() and droid.out(first) == before


def test_after_a_rewrite_of_line_1_what_is_appended_is_all_that_is_new(droid: Chat) -> None:
    droid.say(*(f"{n} {BIG}" for n in range(4)))
    droid.saved()
    head, body = droid.path.read_bytes().split(b"\n", 1)
    droid.path.write_bytes(head.replace(b"A talk", b"T") + b"\n" + body)
    droid.say("later")
    record, size = droid.saved()
    assert size < 5_000 and droid.out(record) == droid.path.read_bytes()


def test_a_transcript_that_was_cut_in_place_costs_no_more_than_a_turn(chat: Chat) -> None:
    """Stored up to the last checkpoint that it still begins with; only the rest of it is new."""
    for number in range(6):
        chat.say(f"{number} {BIG}")
        chat.saved()
    whole = chat.path.read_bytes()
    chat.cli.ok("back", "2", "--in-place")
    record, size = chat.saved()
    assert len(chat.path.read_bytes()) < len(whole) and size < 5_000
    assert chat.out(record) == chat.path.read_bytes()
    chat.say("another way")
    record, size = chat.saved()
    assert size < 5_000 and chat.out(record) == chat.path.read_bytes()
    assert chat.out(chat.records()[2])  # and the older ones are whole
    for old in chat.records():
        if old.data["hasTranscript"]:
            assert len(chat.out(old)) == old.data["transcript"]["snapshot"]["bytes"]


def test_a_transcript_with_another_body_is_stored_anew(chat: Chat) -> None:
    chat.say("one", "two")
    first, _ = chat.saved()
    old = chat.path.read_bytes()
    chat.path.write_bytes(old.replace(b"one", b"ONE"))
    second, _ = chat.saved()
    assert chat.out(first) == old and chat.out(second) == old.replace(b"one", b"ONE")


@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_the_first_checkpoint_of_a_fork_shares_the_bytes_of_its_parent(cli: InProcess, agent: str) -> None:
    chat = Chat(cli, agent)
    for number in range(4):
        chat.say(f"{number} {BIG}")
        chat.saved()
    cli.ok("back", "1")
    fork = chat.forks()[0]
    record, size = chat.saved(fork)
    assert size < 5_000 and chat.out(record) == fork.read_bytes()
    assert record.data["transcript"]["sessionId"] == fork.stem


def test_a_torn_last_line_is_not_stored(chat: Chat) -> None:
    chat.say("one")
    whole = chat.path.read_bytes()
    with open(chat.path, "ab") as file:
        file.write(b'{"type":"user","mess')
    record, _ = chat.saved()
    assert chat.out(record) == whole


def test_a_transcript_without_a_complete_line_is_no_conversation(chat: Chat) -> None:
    chat.path.write_bytes(b'{"torn')
    assert chat.saved()[0].data["hasTranscript"] is False


def test_the_record_says_where_the_conversation_stood(chat: Chat) -> None:
    chat.say("one")
    record, _ = chat.saved()
    found = record.data["transcript"]
    assert found["agent"] == "claude" and found["original_path"] == str(chat.path)
    assert found["sessionId"] == chat.session and record.data["hasTranscript"] is True
    assert found["cursor"]["line_count"] == len(chat.talk.lines)
    assert found["cursor"]["last_event_id"] == chat.talk.here
    assert found["snapshot"]["bytes"] == chat.path.stat().st_size


def test_save_takes_the_conversation_along_and_list_shows_it(chat: Chat) -> None:
    chat.say("one")
    assert chat.cli.json("save", "x")["hasTranscript"] is True
    listed = chat.cli.json("list")["checkpoints"][0]
    assert listed["hasTranscript"] is True and listed["sessionId"] == chat.session
    assert chat.cli.json("list", "--session", chat.session)["checkpoints"] == [listed]


# whatever is appended

class Growing:
    """One project for all examples."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.number = 0

    def run(self, pieces: list[bytes], heads: list[Optional[bytes]]) -> None:
        self.number += 1
        path = self.chat.folder / f"growing-{self.number}.jsonl"
        controller = self.chat.controller()
        state, profile = controller.state, profile_named("claude")
        data, kept = b"", []
        for piece, head in zip(pieces, heads):
            if head is not None and b"\n" in data:
                data = head + b"\n" + data.split(b"\n", 1)[1]
            data += piece
            path.write_bytes(data)
            with locked(state, "save"):
                found = capture(state, str(path), profile)
                state.objects.commit()
                if found:
                    found.remember(state)
                    record = Record({"name": "r", "transcript": found.data, "hasTranscript": True})
                    kept.append((record, data[:data.rfind(b"\n") + 1]))
        for record, wanted in kept:
            assert self.chat.out(record) == wanted
            assert record.data["transcript"]["cursor"]["line_count"] == wanted.count(b"\n")
        path.unlink()


@pytest.fixture
def growing(chat: Chat) -> Iterator[Growing]:
    yield Growing(chat)


PIECE = st.one_of(st.binary(max_size=60), st.sampled_from([b"\n", b'{"a":1}\n', b'{"a":', b"\r\n", b"\n\n"]),
                  st.integers(60_000, 140_000).map(lambda n: b"y" * n + b"\n"))
HEAD = st.one_of(st.none(), st.none(), st.binary(max_size=20).map(lambda b: b.replace(b"\n", b" ")))


@given(st.lists(st.tuples(PIECE, HEAD), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))
def test_whatever_is_appended_comes_out_byte_for_byte(growing: Growing,
                                                      steps: list[tuple[bytes, Optional[bytes]]]) -> None:
    growing.run([piece for piece, _ in steps], [head for _, head in steps])


# gc

def test_gc_keeps_what_the_remaining_checkpoints_need_and_frees_the_rest(chat: Chat) -> None:
    chat.say(f"one {BIG}")
    chat.saved()
    chat.path.write_bytes(b"")
    chat.talk.lines.clear()
    chat._written = 0
    chat.say(*(f"new {n} {BIG}" for n in range(3)))
    chat.saved()
    chat.say("last")
    newest, _ = chat.saved()
    before = chat.stored()
    gone = chat.cli.json("gc", "--keep", "1")
    assert newest.name not in gone["deleted"] and len(gone["deleted"]) == 3
    assert chat.out(newest) == chat.path.read_bytes()
    assert chat.stored() == chat.path.stat().st_size < before
    assert _texts_in_store(chat.cli) == 0
    assert chat.cli.json("validate", "--deep")["ok"] is True


def _texts_in_store(cli: InProcess) -> int:
    """Objects that hold the text of the first transcript."""
    store = Controller(str(cli.project)).state.objects
    return sum(b"one xxxxx" in store.get(oid) for oid in store.ids())


def test_after_gc_the_next_checkpoint_goes_on_from_what_is_left(chat: Chat) -> None:
    for number in range(5):
        chat.say(f"{number} {BIG}")
        chat.saved()
    chat.cli.ok("gc", "--keep", "1")
    chat.say("more")
    record, size = chat.saved()
    assert size < 5_000 and chat.out(record) == chat.path.read_bytes()
    chat.cli.ok("gc", "--keep", "1")
    assert chat.out(record) == chat.path.read_bytes()


def test_gc_of_the_parents_checkpoints_keeps_what_a_fork_shares(chat: Chat) -> None:
    chat.say(f"one {BIG}", f"two {BIG}")
    chat.saved()
    chat.cli.ok("back", "1")
    fork = chat.forks()[0]
    record, _ = chat.saved(fork)
    chat.cli.ok("gc", "--keep", "1")
    assert chat.out(record) == fork.read_bytes()


# damage

def damage(cli: InProcess, oid: bytes, how: str) -> None:
    db = sqlite3.connect(cli.state / "objects.db")
    if how == "missing":
        count = db.execute("DELETE FROM objects WHERE id=?", (oid,)).rowcount
    else:
        count = db.execute("UPDATE objects SET data=? WHERE id=?", (b"\x00rotten", oid)).rowcount
    assert count == 1
    db.commit()
    db.close()


@pytest.mark.parametrize("how", ["missing", "corrupt"])
@pytest.mark.parametrize("what", ["header", "link", "first link", "piece"])
def test_validate_names_the_checkpoint_whose_conversation_is_damaged(chat: Chat, what: str, how: str) -> None:
    chat.say("one")
    first = chat.save()
    chat.say("two")
    second = chat.save()
    controller = chat.controller()
    body = body_of(second)
    assert body is not None
    links = list(links_of(controller.state.objects, body))
    header = header_of(second)
    oid = {"header": header, "link": body, "first link": links[-1].oid, "piece": links[0].pieces[0]}[what]
    controller.close()
    assert oid is not None
    damage(chat.cli, oid, how)
    deep = chat.cli.json("validate", "--deep", code=20)
    about = [p for p in deep["problems"] if "conversation" in p]
    assert any(second.name in p for p in about), deep
    hurts_first = what in ("header", "first link")
    assert any(first.name in p for p in about) == hurts_first, deep
    if how == "missing" or what in ("link", "first link"):
        quick = chat.cli.json("validate", code=20)
        assert any(second.name in p and "conversation" in p for p in quick["problems"]), quick


def test_a_damaged_conversation_does_not_stop_the_next_checkpoint(chat: Chat) -> None:
    chat.say("one")
    body = body_of(chat.save())
    assert body is not None
    damage(chat.cli, body, "corrupt")
    chat.say("two")
    record = chat.save()
    assert chat.out(record) == chat.path.read_bytes()


def test_restoring_a_damaged_conversation_from_the_store_is_a_clear_error(chat: Chat) -> None:
    chat.say("one")
    record = chat.save()
    body = body_of(record)
    assert body is not None
    chat.path.unlink()
    damage(chat.cli, body, "missing")
    chat.cli.fails(20, "restore", record.name, "--context-only")
    assert chat.forks() == [] and chat.leftovers() == []


def test_a_forged_link_is_damage_and_nothing_worse(chat: Chat) -> None:
    store = chat.controller().state.objects
    sound: dict[str, Any] = {"parent": None, "start": 0, "end": 0, "pieces": [], "lines": 0, "tail": "",
                             "head": ""}
    assert len(list(links_of(store, store.put(json.dumps(sound).encode())))) == 1
    for change in ({"parent": "00"}, {"start": 5}, {"start": 1, "end": 9}, {"end": "x"}, {"lines": ""},
                   {"pieces": ["zz"]}, {"pieces": ["00"]}, {"pieces": 7}, {"tail": None}, {"end": -1},
                   {"parent": "00" * 32, "end": 1}, {"parent": "00" * 32}):
        oid = store.put(json.dumps({**sound, **change}).encode())
        with pytest.raises(StoreDamaged):
            list(links_of(store, oid))
    for data in (b"[]", b"7", b"{", b"", b"\xff"):
        with pytest.raises(StoreDamaged):
            list(links_of(store, store.put(data)))


# archive format

@pytest.fixture
def archive(chat: Chat) -> Chat:
    chat.cli.ok("config", "--set", "storage.format=archive")
    return chat


def test_an_archive_holds_the_whole_transcript_packed(archive: Chat) -> None:
    archive.say("one", "two")
    record = archive.save()
    path = archive.cli.state / "checkpoints" / record.name / "transcript.jsonl.gz"
    assert gzip.decompress(path.read_bytes()) == archive.path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert archive.out(record) == archive.path.read_bytes()
    assert record.data["transcript"]["cursor"]["line_count"] == len(archive.talk.lines)
    assert archive.cli.json("validate", "--deep")["ok"] is True


def test_the_same_transcript_gives_the_same_archive(archive: Chat) -> None:
    archive.say("one")
    names = [archive.save().name, archive.save().name]
    packed = [(archive.cli.state / "checkpoints" / n / "transcript.jsonl.gz").read_bytes() for n in names]
    assert packed[0] == packed[1]


def test_a_chat_is_restored_from_an_archive_when_the_original_is_gone(archive: Chat) -> None:
    archive.say("one", "two")
    record = archive.save()
    archive.path.unlink()
    fork = archive.cli.json("restore", record.name)["fork"]
    assert archive.fork(fork["path"]) == ["one", "two"]
    assert archive.leftovers() == []


@pytest.mark.parametrize("how", ["missing", "corrupt", "torn", "short"])
def test_validate_names_the_archive_whose_conversation_is_damaged(archive: Chat, how: str) -> None:
    archive.say("one", "two")
    record = archive.save()
    path = archive.cli.state / "checkpoints" / record.name / "transcript.jsonl.gz"
    if how == "missing":
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes({"corrupt": b"rotten", "torn": whole[:-20], "short": gzip.compress(b"{}\n")}[how])
    problems = archive.cli.json("validate", "--deep", code=20)["problems"]
    assert any(record.name in p and "conversation" in p for p in problems), problems
    archive.path.unlink()
    archive.cli.fails(20, "restore", record.name, "--context-only")
    assert archive.forks() == [] and archive.leftovers() == []


def test_a_project_may_hold_both_kinds(archive: Chat) -> None:
    archive.say("one")
    first = archive.save()
    archive.cli.ok("config", "--set", "storage.format=objects")
    archive.say("two")
    second = archive.save()
    archive.path.unlink()
    for record, wanted in ((first, ["one"]), (second, ["one", "two"])):
        fork = archive.cli.json("restore", record.name, "--context-only")["fork"]
        assert archive.fork(fork["path"]) == wanted


def test_gc_deletes_an_archives_conversation_with_it(archive: Chat) -> None:
    archive.say("one")
    record = archive.save()
    archive.save()
    archive.cli.ok("gc", "--keep", "1")
    assert not os.path.exists(archive.cli.state / "checkpoints" / record.name)
