"""A session's own file is replaced in one step, after a complete backup, and never under a writer's hands."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from make_transcripts import ClaudeTalk, resumed
from rewind.agents.registry import profile_named
from rewind.errors import NothingBeforeCut, RewindError, SessionInUse
from rewind.transcript.place.cut import Cut
from rewind.transcript.write import in_place
from rewind.transcript.write.content import write_content
from rewind.transcript.write.fork import write_fork
from rewind.transcript.write.in_place import copy_whole, put_back, rewrite, same_bytes


@pytest.fixture
def talk() -> ClaudeTalk:
    talk = ClaudeTalk()
    for text in ("one", "two", "three"):
        talk.turn(text)
    return talk


@pytest.fixture
def path(tmp_path: Path, home: Path, talk: ClaudeTalk) -> Path:
    path = tmp_path / "s" / "abc.jsonl"
    path.parent.mkdir()
    path.write_bytes(talk.bytes())
    return path


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backups" / "b.jsonl"


def cut_in_place(path: Path, cut: Cut, backup: Path, source: Optional[Path] = None,
                 note: Callable[[], None] = lambda: None) -> None:
    rewrite(str(path), str(source or path), profile_named("claude"), cut,
            str(backup) if path.exists() else None, note)


def only(path: Path) -> bool:
    return os.listdir(path.parent) == [path.name]


def nothing_done(path: Path, talk: ClaudeTalk, backup: Path) -> bool:
    return path.read_bytes() == talk.bytes() and only(path) and not backup.exists()


def test_the_file_holds_what_was_before_the_cut_and_the_backup_all_of_it(path: Path, talk: ClaudeTalk,
                                                                         backup: Path) -> None:
    cut_in_place(path, Cut(talk.offset(3)), backup)
    assert path.read_bytes() == talk.bytes()[:talk.offset(3)] and backup.read_bytes() == talk.bytes()
    assert path.stat().st_mode & 0o777 == 0o600 and only(path)
    assert backup.stat().st_mode & 0o777 == 0o600 and backup.parent.stat().st_mode & 0o777 == 0o700


def test_when_the_history_is_told_the_backup_is_whole_and_the_file_untouched(path: Path, talk: ClaudeTalk,
                                                                            backup: Path) -> None:
    seen = []
    cut_in_place(path, Cut(talk.offset(3)), backup,
                 note=lambda: seen.append((path.read_bytes(), backup.read_bytes())))
    assert seen == [(talk.bytes(), talk.bytes())]


def test_a_history_that_cannot_be_written_keeps_the_file_as_it_was(path: Path, talk: ClaudeTalk,
                                                                  backup: Path) -> None:
    with pytest.raises(OSError):
        cut_in_place(path, Cut(talk.offset(3)), backup, note=full_disk)
    assert path.read_bytes() == talk.bytes() and only(path)
    # It may have been written all the same, and only not be known to be durable: what it names is kept.
    assert backup.read_bytes() == talk.bytes()


def test_a_backup_that_the_history_names_is_kept_when_the_file_cannot_be_replaced(
        path: Path, talk: ClaudeTalk, backup: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(in_place.os, "replace", full_disk)
    with pytest.raises(OSError):
        cut_in_place(path, Cut(talk.offset(3)), backup)
    assert path.read_bytes() == talk.bytes() and only(path)
    assert backup.read_bytes() == talk.bytes()


def test_the_client_resumes_the_same_as_of_a_fork(path: Path, talk: ClaudeTalk, backup: Path) -> None:
    """With an abandoned branch before the cut, which must not come back."""
    one = resumed("claude", talk.bytes()[:talk.offset(3)])[-1]
    talk.back_to(one)
    talk.turn("instead")
    path.write_bytes(talk.bytes())
    cut = Cut(talk.offset(9), one)
    fork = write_fork(str(path), profile_named("claude"), cut, original=str(path))
    wanted = resumed("claude", Path(fork.path).read_bytes())
    cut_in_place(path, cut, backup)
    assert resumed("claude", path.read_bytes()) == wanted and wanted[-1] == one


def test_a_backup_never_goes_over_another_one(path: Path, talk: ClaudeTalk, backup: Path) -> None:
    backup.parent.mkdir()
    backup.write_bytes(b"other\n")
    with pytest.raises(FileExistsError):
        cut_in_place(path, Cut(talk.offset(3)), backup)
    assert path.read_bytes() == talk.bytes() and backup.read_bytes() == b"other\n" and only(path)


def full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("what", ["copy_range", "write_content", "write_leaf"])
def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_else(path: Path, talk: ClaudeTalk, backup: Path,
                                                               monkeypatch: Any, what: str) -> None:
    monkeypatch.setattr(in_place, what, full_disk)
    with pytest.raises(OSError):
        cut_in_place(path, Cut(talk.offset(3)), backup)
    assert nothing_done(path, talk, backup)


def test_a_copy_that_fails_leaves_nothing(path: Path, backup: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(in_place, "copy_range", full_disk)
    with pytest.raises(OSError):
        copy_whole(str(path), str(backup))
    assert not backup.exists()


def test_a_file_that_grew_meanwhile_is_not_replaced(path: Path, talk: ClaudeTalk, backup: Path,
                                                    monkeypatch: Any) -> None:
    write = write_content

    def and_the_client_writes(*args: Any) -> None:
        write(*args)
        with open(path, "ab") as file:
            file.write(b'{"more":1}\n')

    monkeypatch.setattr(in_place, "write_content", and_the_client_writes)
    with pytest.raises(SessionInUse):
        cut_in_place(path, Cut(talk.offset(3)), backup)
    assert path.read_bytes() == talk.bytes() + b'{"more":1}\n' and only(path) and not backup.exists()


def test_what_is_written_in_the_last_instant_is_in_the_backup(path: Path, talk: ClaudeTalk, backup: Path,
                                                             monkeypatch: Any) -> None:
    replace = os.replace

    def and_the_client_writes(source: str, target: str) -> None:
        with open(path, "ab") as file:
            file.write(b'{"more":1}\n')
        replace(source, target)

    monkeypatch.setattr(os, "replace", and_the_client_writes)
    cut_in_place(path, Cut(talk.offset(3)), backup)
    assert backup.read_bytes() == talk.bytes() + b'{"more":1}\n'
    assert path.read_bytes() == talk.bytes()[:talk.offset(3)]


def test_what_a_killed_process_left_is_in_nobodys_way(path: Path, talk: ClaudeTalk, backup: Path) -> None:
    (path.parent / ".abc.rewind-tmp").write_bytes(b"half")
    cut_in_place(path, Cut(talk.offset(3)), backup)
    assert path.read_bytes() == talk.bytes()[:talk.offset(3)] and only(path)


def test_nothing_to_go_on_from_is_refused_before_anything_is_written(path: Path, talk: ClaudeTalk,
                                                                    backup: Path) -> None:
    with pytest.raises(NothingBeforeCut):
        cut_in_place(path, Cut(0), backup)
    assert nothing_done(path, talk, backup)


def test_the_content_may_come_from_elsewhere_when_the_file_is_gone(path: Path, talk: ClaudeTalk,
                                                                   backup: Path, tmp_path: Path) -> None:
    stored = tmp_path / "stored.jsonl"
    path.rename(stored)
    cut_in_place(path, Cut(talk.offset(6)), backup, stored)
    assert path.read_bytes() == talk.bytes()[:talk.offset(6)] and only(path) and not backup.exists()


def test_a_backup_put_back_changes_places_with_what_was_there(path: Path, talk: ClaudeTalk,
                                                              backup: Path) -> None:
    cut_in_place(path, Cut(talk.offset(3)), backup)
    short, other = path.read_bytes(), backup.with_name("other.jsonl")
    assert not same_bytes(str(path), str(backup))
    put_back(str(backup), str(path), str(other), lambda: None)
    assert same_bytes(str(path), str(backup)) and path.read_bytes() == talk.bytes() and only(path)
    assert other.read_bytes() == short


def test_a_link_is_never_written_through(path: Path, tmp_path: Path, talk: ClaudeTalk, backup: Path) -> None:
    real = tmp_path / "real.jsonl"
    path.rename(real)
    path.symlink_to(real)
    with pytest.raises((RewindError, OSError)):
        cut_in_place(path, Cut(talk.offset(3)), backup)
    assert real.read_bytes() == talk.bytes() and only(path)


def test_two_files_are_compared_byte_by_byte(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    one.write_bytes(b"a" * 3_000_000 + b"b")
    other.write_bytes(b"a" * 3_000_000 + b"c")
    assert not same_bytes(str(one), str(other)) and same_bytes(str(one), str(one))
    assert not same_bytes(str(one), str(tmp_path / "absent"))
