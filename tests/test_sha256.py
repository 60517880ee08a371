"""The one hash by which content is named is the same, wherever it comes from."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import rewind

SOURCE = str(Path(rewind.__file__).parent.parent)
PIECES = (b"", b"x", b"content" * 1000, b"y" * (1100 << 10), b"after")


def in_a_fresh_process(code: str) -> str:
    start = f"import sys; sys.path.insert(0, {SOURCE!r}); from rewind.fast.sha256 import sha256\n"
    return subprocess.run([sys.executable, "-I", "-S", "-c", start + code], capture_output=True, text=True,
                          check=True).stdout


def test_little_and_much_are_hashed_as_hashlib_does():
    out = in_a_fresh_process(
        "for data in (b'', b'x', b'content' * 1000, b'y' * (1100 << 10), b'after'):\n"
        "    print(sha256(data).hex())")
    assert out.split() == [hashlib.sha256(piece).hexdigest() for piece in PIECES]


def test_openssl_is_loaded_only_when_there_is_much_to_hash():
    out = in_a_fresh_process("sha256(b'x' * 1000); print('_hashlib' in sys.modules)\n"
                             "sha256(b'x' * (1100 << 10)); print('_hashlib' in sys.modules)")
    assert out.split() == ["False", "True"]
