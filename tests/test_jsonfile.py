"""Small JSON files: what is planted or damaged there is never more than "there is no object"."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rewind import jsonfile

DAMAGED = {
    "nothing": b"", "half of it": b'{"a": ', "a list": b"[1]", "a text": b'"a"', "null": b"null",
    "not UTF-8": b'{"a": "\xff"}', "two objects": b"{}{}", "NaN": b'{"a": NaN}',
    "deeper than the stack": b'{"a":' * 200_000, "too long": b'{"a": "' + b"x" * 2000 + b'"}',
}


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / "one.json")
    data = {"format": 1, "names": ["caf\udce9", "\u00e9"], "none": None}
    jsonfile.write(path, data)
    assert jsonfile.read(path, 1000) == jsonfile.read_or_empty(path, 1000) == data


def test_a_file_has_one_member_a_line_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    jsonfile.write(str(path), {"a": 1, "b": [2]})
    assert path.read_bytes() == b'{\n  "a": 1,\n  "b": [2]\n}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["one.json"]


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_object_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(content)
    assert jsonfile.read(str(path), 1 << 20 if len(content) > 10_000 else 1000) is None
    assert jsonfile.read_or_empty(str(path), 1 << 20 if len(content) > 10_000 else 1000) == {}


def test_an_empty_object_is_one(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("{}")
    assert jsonfile.read(str(tmp_path / "one.json"), 1000) == {}


def test_the_limit_is_that_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"a": 1}')
    assert jsonfile.read(str(path), 8) == {"a": 1}
    assert jsonfile.read(str(path), 7) is None


def test_only_the_caller_knows_whether_a_file_has_to_be_there(tmp_path: Path) -> None:
    path = str(tmp_path / "one.json")
    with pytest.raises(FileNotFoundError):
        jsonfile.read(path, 1000)
    assert jsonfile.read_or_empty(path, 1000) == {}


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "one.json")
    os.mkfifo(path)
    assert jsonfile.read(path, 1000) is None


def test_a_directory_is_no_object(tmp_path: Path) -> None:
    assert jsonfile.read(str(tmp_path), 1000) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    link = tmp_path / "one.json"
    link.symlink_to("real.json")
    with pytest.raises(OSError):
        jsonfile.read(str(link), 1000)
    assert jsonfile.read_or_empty(str(link), 1000) == {}
