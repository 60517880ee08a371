"""Text to the clipboard, by the first tool that works; without any, by the terminal or not at all."""

from __future__ import annotations

import base64
import io
import os
import sys
from pathlib import Path

import pytest

from rewind.cli.output.clipboard import copy


@pytest.fixture
def bin(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return folder


def tool(folder: Path, name: str, code: int = 0) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho \"$@\" > '{folder}/{name}.args'\n"
                               f"/bin/cat > '{folder}/{name}.text'\nexit {code}\n")
    (folder / name).chmod(0o755)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("name", "needs"), [("pbcopy", ""), ("wl-copy", "WAYLAND_DISPLAY"),
                                             ("xclip", "DISPLAY"), ("clip.exe", "")])
def test_each_tool_gets_the_text(bin: Path, monkeypatch: pytest.MonkeyPatch, name: str, needs: str) -> None:
    tool(bin, name)
    if needs:
        assert copy("x") == ""
        monkeypatch.setenv(needs, ":0")
    assert copy("grüße\nzwei") == name
    assert (bin / f"{name}.text").read_bytes() == "grüße\nzwei".encode()
    if name == "xclip":
        assert (bin / "xclip.args").read_text() == "-selection clipboard\n"


def test_a_tool_that_fails_gives_way_to_the_next(bin: Path) -> None:
    tool(bin, "pbcopy", code=1)
    tool(bin, "clip.exe")
    assert copy("x") == "clip.exe"


def test_a_tool_that_cannot_be_run_gives_way_to_the_next(bin: Path) -> None:
    (bin / "pbcopy").write_text("#!/no/such/interpreter\n")
    (bin / "pbcopy").chmod(0o755)
    tool(bin, "clip.exe")
    assert copy("x") == "clip.exe"


def test_a_lone_surrogate_does_not_crash(bin: Path) -> None:
    tool(bin, "pbcopy")
    assert copy("a\ud800b") == "pbcopy"


def test_without_a_tool_the_terminal_is_asked(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert copy("hello") != ""
    code = base64.b64encode(b"hello").decode()
    assert terminal.getvalue() == f"\x1b]52;c;{code}\x07"


@pytest.mark.parametrize("term", ["dumb", "linux"])
def test_a_terminal_that_cannot_is_not_asked(bin: Path, monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", term)
    assert copy("hello") == "" and terminal.getvalue() == ""


def test_more_than_a_terminal_takes_is_not_sent(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert copy("x" * 200_000) == "" and terminal.getvalue() == ""


def test_what_is_no_terminal_gets_no_escape_sequences(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert copy("hello") == "" and stderr.getvalue() == "" and os.environ["PATH"] == str(bin)
