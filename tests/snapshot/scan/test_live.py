"""Looking at a file on the disk: no link is followed, and nothing but a regular file is read."""

from __future__ import annotations

import os
from pathlib import Path

from rewind.snapshot.scan.live import read_live


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_bytes(b"12345")
    root = os.fsencode(tmp_path)
    assert read_live(root, b"a/b/c", 100) == b"12345"
    assert read_live(root, b"a/b/c", 3) == b"123"


def test_nothing_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/secret").write_bytes(b"secret")
    (tmp_path / "way").symlink_to("real")
    (tmp_path / "direct").symlink_to("real/secret")
    root = os.fsencode(tmp_path)
    assert read_live(root, b"way/secret", 100) is None
    assert read_live(root, b"direct", 100) is None


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    root = os.fsencode(tmp_path)
    assert read_live(root, b"pipe", 100) is None
    assert read_live(root, b"folder", 100) is None
    assert read_live(root, b"missing", 100) is None
