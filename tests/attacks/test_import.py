"""Archives made to be imported by somebody else, by way of the real command.

What the reader refuses is tested offence by offence in `store/test_archive.py` and
`snapshot/archive/test_portable.py`: traversal, absolute names, links out, devices, hard links, duplicates,
members below links and files, bombs, huge names, sizes and numbers of members, damaged headers, hostile
manifests. Here: that the command as a whole leaves the world as it was.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from attacks.tar_members import Change, added, member
from rewind_cli import Rewind, Tree, tree_state

pytestmark = pytest.mark.slow

LINK, HARD, CHAR, FIFO = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE
ATTACKS: dict[str, Change] = {
    "a name that leads out": added(member("files/../../escaped")),
    "an absolute name": added(member("/escaped")),
    "beside the tree": added(member("escaped")),
    "a link out, then a file below it": added(member("files/l", b"", type=LINK, linkname="../.."),
                                              member("files/l/escaped")),
    "a link to the root": added(member("files/l", b"", type=LINK, linkname="/")),
    "a hard link": added(member("files/h", b"", type=HARD, linkname="/etc/passwd")),
    "a device": added(member("files/d", b"", type=CHAR, devmajor=1, devminor=5)),
    "a FIFO": added(member("files/f", b"", type=FIFO)),
    "a name twice": added(member("files/twice"), member("files/twice", b"y")),
    "git's hooks": added(member("files/.git", b"", type=tarfile.DIRTYPE), member("files/.git/config")),
    "git's hooks in capitals": added(member("files/.GIT", b"gitdir: /evil")),
    "rewind's own state": added(member("files/.agent", b"", type=tarfile.DIRTYPE),
                                member("files/.agent/rewind", b"", type=tarfile.DIRTYPE),
                                member("files/.agent/rewind/config.json", b"{}")),
    "a slash at the end": added(member("files/slash/")),
    "a dot at the end": added(member("files/.")),
    "nothing between two slashes": added(member("files//empty")),
    "a huge size": lambda found: [*found[:1], _announced("files/huge", 1 << 60)],
    "a size that is less than nothing": lambda found: [*found[:1], _announced("files/less", -1)],
    "another manifest": lambda found: [member("manifest.json", b"{}"), *found[1:]],
    "no manifest": lambda found: found[1:],
    "content that was changed": lambda found: [*found[:-1], member(found[-1][0].name, b"changed")],
}


def _announced(name: str, size: int) -> tuple[tarfile.TarInfo, bytes]:
    info, data = member(name)
    info.size = max(0, size)
    return info, data


@pytest.fixture
def exported(rewind: Rewind) -> Path:
    (rewind.project / "a.txt").write_text("a\n")
    rewind.init()
    file = rewind.home / "good.tar.gz"
    rewind.ok("export", "last", str(file))
    return file


def rebuilt(exported: Path, change: Change) -> bytes:
    with tarfile.open(exported) as good:
        found = [(info, (good.extractfile(info) or io.BytesIO()).read()) for info in good]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as bad:
        for info, data in change(found):
            try:
                bad.addfile(info, io.BytesIO(data))
            except OSError:
                break  # it announces more than it has
    return gzip.compress(out.getvalue())


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_archive_leaves_the_world_as_it_was(rewind: Rewind, exported: Path, attack: str) -> None:
    refused(rewind, rebuilt(exported, ATTACKS[attack]))


def refused(rewind: Rewind, raw: bytes) -> None:
    file = rewind.home / "evil.tar.gz"
    file.write_bytes(raw)
    before, names = tree_state(rewind.project.parent), rewind.names()
    for args in (["--dry-run"], [], ["--allow-links-out"]):
        result = rewind.run("import", str(file), *args, timeout=60)
        assert result.code in (1, 20), (args, result)
        assert "error: " in result.err and "\x1b" not in result.err
    assert rewind.names() == names
    assert _but_ours(tree_state(rewind.project.parent)) == _but_ours(before)
    assert rewind.json("validate", "--deep")["ok"] is True


def _but_ours(tree: Tree) -> Tree:
    return {path: state for path, state in tree.items() if b"rewind/" not in path}


def test_very_many_members_are_refused_in_little_memory(rewind: Rewind, exported: Path) -> None:
    """As many as make sense are allowed, so they must not cost more than that."""
    with tarfile.open(exported) as good:
        first = good.next()
        assert first is not None
        manifest = (good.extractfile(first) or io.BytesIO()).read()
    head = member("manifest.json", manifest)[0].tobuf(tarfile.GNU_FORMAT)
    folder = member("files", b"", type=tarfile.DIRTYPE)[0].tobuf(tarfile.GNU_FORMAT)
    one = member("files/{:07d}", b"")[0].tobuf(tarfile.GNU_FORMAT)
    file = rewind.home / "many.tar.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(head + manifest + bytes(-len(manifest) % 512) + folder)
        block = bytearray(one)
        for number in range(40_000):
            name = b"files/%07d" % number
            block[:len(name)] = name
            block[148:156] = b" " * 8
            block[148:156] = b"%06o\0 " % sum(block)
            out.write(block)
    command = ["sh", "-c", 'ulimit -v 300000; exec "$@"', "sh", *rewind.command, "import", str(file)]
    done = subprocess.run(command, cwd=rewind.project, env=rewind.env, capture_output=True, timeout=120)
    assert done.returncode in (1, 20) and b"error: " in done.stderr and b"Traceback" not in done.stderr, done


def test_names_that_differ_only_in_case_or_in_unicode_form_are_kept_apart(rewind: Rewind) -> None:
    """Both are there, or the archive says so: never one over the other without a word."""
    names = ["A", "a", "caf\u00e9", "cafe\u0301"]
    for name in names:
        (rewind.project / name).write_text(name)
    if len(list(rewind.project.iterdir())) < len(names):
        pytest.skip("this file system takes them for the same")
    rewind.init()
    file = rewind.home / "both.tar.gz"
    rewind.ok("export", "last", str(file))
    rewind.ok("import", str(file))
    for name in names:
        (rewind.project / name).unlink()
    rewind.ok("restore", "last")
    assert {p.name: p.read_text() for p in rewind.project.iterdir() if p.is_file()} == {n: n for n in names}
