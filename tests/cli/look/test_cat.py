"""`rewind cat`."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pytest

from cli.test_main import on_terminal
from rewind_cli import Rewind


def test_cat_prints_a_file_as_the_checkpoint_has_it(two: Rewind) -> None:
    assert two.ok("cat", "prev:README.md").out == "# one\n"
    assert two.ok("cat", f"{two.names()[0]}:README.md").out == "# two\n"
    assert two.run("cat", "last:app.py", cwd=two.project / "src").out.startswith("line 1\n")


def test_cat_says_what_is_wrong(two: Rewind) -> None:
    two.fails(2, "cat", "README.md", hint="colon")
    two.fails(2, "cat", "last:")
    two.fails(12, "cat", "last:no-such", hint="--files")
    two.fails(12, "cat", "99:README.md")
    assert two.fails(1, "cat", "last:src", hint="--files") == "error: src is a directory."
    assert two.fails(1, "cat", "last:.") == "error: The project is a directory."
    (two.project / "node_modules").mkdir()
    two.ok("save")
    assert "skip-list" in two.fails(1, "cat", "last:node_modules", hint="--unprotected")


def test_cat_of_a_link_is_where_it_leads(two: Rewind) -> None:
    (two.project / "link").symlink_to("README.md")
    two.ok("save")
    assert two.ok("cat", "last:link").out == "README.md"


def test_cat_as_json_has_text_or_bytes(two: Rewind) -> None:
    (two.project / "odd.bin").write_bytes(b"\xff\x00\xfe")
    two.ok("save")
    found = two.json("cat", "last:README.md")
    assert (found["text"], found["base64"], found["mode"], found["size"]) == ("# two\n", None, "0644", 6)
    found = two.json("cat", "last:odd.bin")
    assert found["text"] is None and base64.b64decode(found["base64"]) == b"\xff\x00\xfe"


# real processes

@pytest.fixture
def mixed(rewind: Rewind) -> Rewind:
    (rewind.project / "logo.png").write_bytes(os.urandom(3000) + b"\0")
    (rewind.project / "evil.txt").write_bytes(b"a\tb\x1b[2J\r\nend")
    rewind.init()
    return rewind


def test_every_byte_reaches_a_pipe(mixed: Rewind, tmp_path: Path) -> None:
    with open(tmp_path / "out", "wb") as file:
        subprocess.run([*mixed.command, "cat", "last:logo.png"], cwd=mixed.project, env=mixed.env,
                       stdout=file, check=True)
    assert (tmp_path / "out").read_bytes() == (mixed.project / "logo.png").read_bytes()


def test_a_terminal_is_spared_binary_files_and_escapes(mixed: Rewind) -> None:
    assert "not printed to the terminal" in on_terminal(mixed, "cat", "last:logo.png", NO_COLOR="1")
    assert on_terminal(mixed, "cat", "last:evil.txt") == "a\tb\\x1b[2J\r\nend\r\n"
    assert "\x1b[2J" in on_terminal(mixed, "cat", "last:evil.txt", "--force")
