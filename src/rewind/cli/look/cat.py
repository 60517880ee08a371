"""Print a file from a checkpoint, byte for byte.

The path is relative to the current directory. On a terminal, control characters are shown as
escapes and a binary file is refused, unless --force says otherwise.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, open_controller, print_json
from rewind.cli.output.style import kind_of, path_json, visible
from rewind.cli.parse.arguments import project_path
from rewind.controller import DIR, LINK, UNCOVERED, entry_at, is_binary, pieces_of, split_selector
from rewind.errors import PathNotFound, RewindError, UsageError
from rewind.words import shown

if TYPE_CHECKING:
    from rewind.checkpoint.records.source import Source
    from rewind.cli.output.style import PathJson
    from rewind.snapshot.trees.tree import TreeEntry

    class FileJson(PathJson):
        checkpoint: str
        kind: str
        mode: str | None
        size: int
        text: str | None
        base64: str | None

summary = "print a file from a checkpoint"
examples = ("rewind cat last:src/app.py", "rewind cat t4:logo.png > old-logo.png",
            "rewind cat 20261115_1015:.env --force")


def arguments(parser: Parser) -> None:
    parser.add_argument("what", metavar="CHECKPOINT:PATH", help="a checkpoint, a colon, and a file in it")
    parser.add_argument("--force", action="store_true", help="print every byte unchanged, even to a terminal")


def run(args: Args) -> int:
    name, typed = split_selector(args.what)
    if not (name and typed):
        raise UsageError(f"{args.what} does not name a file of a checkpoint.",
                         hint="Put a colon between them: `rewind cat last:README.md`")
    controller = open_controller(args)
    path = project_path(typed, controller.project)
    record = controller.find(name)
    with controller.source(record) as source:
        entry = _entry(source, path)
        pieces = pieces_of(entry, source.blobs)
        if args.json:
            print_json(_json(record.name, path, entry, b"".join(pieces)))
        elif sys.stdout.isatty() and not args.force:
            _to_terminal(path, b"".join(pieces))
        else:
            _write(pieces)
    return 0


def _entry(source: Source, path: bytes) -> TreeEntry:
    name = source.record.name
    entry = entry_at(source.tree, source.record.tree, path) if path else None
    if not path or (entry and entry.kind == DIR):
        raise RewindError(f"{shown(path) or 'The project'} is a directory.",
                          hint=f"`rewind show {name} --files` shows what is in it.")
    if entry is None:
        raise PathNotFound(checkpoint=name, path=os.fsdecode(path))
    if entry.kind == UNCOVERED:
        raise RewindError(f"{name} does not hold the content of {shown(path)} ({shown(entry.ref)})",
                          hint="`rewind status --unprotected` says why, and what to do about it.")
    return entry


def _to_terminal(path: bytes, data: bytes) -> None:
    if is_binary(data):
        raise RewindError(f"{shown(path)} is a binary file; not printed to the terminal.",
                          hint="Redirect it to a file, or repeat with `--force`.")
    for line in data.removesuffix(b"\n").split(b"\n") if data else ():
        print(visible(line.rstrip(b"\r")))


def _write(pieces: Iterator[bytes]) -> None:
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _json(name: str, path: bytes, entry: TreeEntry, data: bytes) -> FileJson:
    text: str | None
    exact: str | None
    try:
        text, exact = data.decode(), None
    except UnicodeDecodeError:
        text, exact = None, base64.b64encode(data).decode()
    mode = None if entry.kind == LINK else f"{entry.mode:04o}"
    return {"checkpoint": name, **path_json(path), "kind": kind_of(entry), "mode": mode, "size": len(data),
            "text": text, "base64": exact}
