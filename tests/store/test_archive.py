from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rewind
from rewind.errors import ArchiveRefused, RewindError
from rewind.store import archive
from rewind.store.archive import MAX_NAME, ArchiveReader, ArchiveWriter, leads_out

pytestmark = pytest.mark.slow

SRC = os.path.dirname(os.path.dirname(os.path.abspath(rewind.__file__)))
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Found = tuple[bytes, bytes, int, bytes, bytes]  # kind, name, mode, target, content

ODD = [b"-rf", b"new\nline", b"caf\xe9", "grün".encode(), b"a" * 100, b"b" * 101, b"c" * 300,
       b"d/" + b"e" * 200 + b"/" + b"f" * 200, b"white space ", b"back\\slash", b"\xff\xfe"]


def is_git(name: bytes) -> bool:
    return name.lower() == b".git"


def read(path: Path, **options: Any) -> list[Found]:
    with path.open("rb") as file:
        reader = ArchiveReader(file, str(path), forbidden=is_git, **options)
        return [(m.kind, m.name, m.mode, m.target, m.read(m.size)) for m in reader]


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(ArchiveRefused) as caught:
        read(path, **options)
    message = caught.value.message
    assert message.startswith(f"Refusing to import {path}: ") and message.endswith(".")
    assert "\n" not in message
    return message


def write(path: Path, members: list[Found]) -> list[Found]:
    with path.open("wb") as file:
        out = ArchiveWriter(file)
        for kind, name, mode, target, content in members:
            if kind == archive.DIR:
                out.add_dir(name, mode)
            elif kind == archive.LINK:
                out.add_link(name, target)
            else:
                out.add_file(name, mode, len(content), [content[:3], content[3:]])
        out.close()
    return members


def odd_members() -> list[Found]:
    members: list[Found] = []
    for i, name in enumerate(ODD):
        parts = name.split(b"/")
        for n in range(1, len(parts)):
            members.append((archive.DIR, b"/".join(parts[:n]), 0o755, b"", b""))
        members.append((archive.FILE, name, [0o600, 0o755, 0o4755][i % 3], b"", os.urandom(i * 100)))
        members.append((archive.LINK, name + b".link", 0o777, name.split(b"/")[-1], b""))
    members.append((archive.DIR, b"empty", 0o1777, b"", b""))
    members.append((archive.LINK, b"far", 0o777, b"x" * 250, b""))
    return members


def raw_tar(*infos: tarfile.TarInfo, contents: dict[str, bytes] | None = None,
            form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, errors="surrogateescape") as tar:
        for info in infos:
            content = (contents or {}).get(info.name, b"")
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def info(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    made.linkname = target
    return made


def packed(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "given.tar.gz"
    path.write_bytes(gzip.compress(data, mtime=0))
    return path


def made(tmp_path: Path, *infos: tarfile.TarInfo) -> Path:
    return packed(tmp_path, raw_tar(*infos))


# what we write

def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    members = write(tmp_path / "a.tar.gz", odd_members())
    assert read(tmp_path / "a.tar.gz") == members


def test_the_same_members_give_the_same_bytes(tmp_path: Path) -> None:
    members = write(tmp_path / "a.tar.gz", odd_members())
    write(tmp_path / "b.tar.gz", members)
    data = (tmp_path / "a.tar.gz").read_bytes()
    assert data == (tmp_path / "b.tar.gz").read_bytes()
    assert data[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def test_pythons_tarfile_reads_what_we_write(tmp_path: Path) -> None:
    members = write(tmp_path / "a.tar.gz", odd_members())
    with tarfile.open(tmp_path / "a.tar.gz", errors="surrogateescape") as tar:
        found = tar.getmembers()
        # Python 3.9 keeps the slash that ends a directory's long name
        assert [os.fsencode(m.name.rstrip("/")) for m in found] == [m[1] for m in members]
        assert all((m.mtime, m.uid, m.gid, m.uname, m.gname) == (0, 0, 0, "", "") for m in found)
        for member, wanted in zip(found, members):
            if member.isreg():
                content = tar.extractfile(member)
                assert content and content.read() == wanted[4]


@pytest.mark.skipif(not shutil.which("tar"), reason="there is no tar here")
def test_tar_unpacks_what_we_write(tmp_path: Path) -> None:
    names = [b"-rf", b"new\nline", b"caf\xe9", b"b" * 120]
    members = write(tmp_path / "a.tar.gz", [
        (archive.DIR, b"d", 0o750, b"", b""),
        *((archive.FILE, b"d/" + name, 0o640, b"", name) for name in names),
        (archive.LINK, b"link", 0o777, b"d/" + b"b" * 120, b"")])
    listed = subprocess.run(["tar", "tzf", "a.tar.gz"], cwd=tmp_path, capture_output=True, check=True)
    assert len(listed.stdout.splitlines()) == len(members) and not listed.stderr
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "xzpf", "../a.tar.gz"], cwd=tmp_path / "out", check=True)
    top = os.fsencode(tmp_path / "out")
    for name in names:
        with open(top + b"/d/" + name, "rb") as file:
            assert file.read() == name
            assert os.fstat(file.fileno()).st_mode & 0o7777 == 0o640
    assert os.readlink(top + b"/link") == b"d/" + b"b" * 120


@pytest.mark.skipif(not shutil.which("tar"), reason="there is no tar here")
def test_what_tar_packs_again_is_read(tmp_path: Path) -> None:
    long = "n" * 80
    (tmp_path / long / long).mkdir(parents=True)
    (tmp_path / long / long / "f").write_text("hello")
    for form in ("gnu", "ustar"):
        subprocess.run(["tar", "czf", "t.tar.gz", f"--format={form}", long], cwd=tmp_path, check=True)
        found = read(tmp_path / "t.tar.gz")
        assert [os.fsdecode(m[1]) for m in found] == [long, f"{long}/{long}", f"{long}/{long}/f"]
        assert found[-1][4] == b"hello"


def test_a_file_of_more_than_8_gb_is_announced_in_binary() -> None:
    size = 9 << 30
    parsed = tarfile.TarInfo.frombuf(archive._pack_header(b"0", b"big", 0o644, size), "utf-8", "strict")
    assert parsed.size == size
    assert archive._number(b"\x80" + size.to_bytes(11, "big")) == size


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file, pytest.raises(RewindError):
        ArchiveWriter(file).add_dir(b"n" * MAX_NAME, 0o755)


def test_an_archive_that_was_not_closed_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        ArchiveWriter(file).add_file(b"f", 0o644, 1 << 20, [os.urandom(1 << 20)])
    assert "cut short" in refusal(tmp_path / "a")


# what we refuse

@pytest.mark.parametrize(("name", "reason"), [
    ("/etc/passwd", "'/etc/passwd' is absolute"),
    ("../up", "'../up' has '..' in it"),
    ("a/../../up", "has '..' in it"),
    ("./a", "has '.' in it"),
    ("a/./b", "has '.' in it"),
    ("a//b", "has '' in it"),
    ("a/", "has '' in it"),
    (".git", "has '.git' in it"),
    ("a/.GIT/hooks/post-checkout", "has '.GIT' in it"),
    ("a/" + "b" * 300 + "/..", "has '..' in it"),
])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    raw = raw_tar(info("a", tarfile.DIRTYPE), info(name))
    assert reason in refusal(packed(tmp_path, raw))


def test_an_empty_name_is_refused(tmp_path: Path) -> None:
    assert "has '' in it" in refusal(made(tmp_path, info("")))
    assert "is absolute" in refusal(made(tmp_path, info("//", tarfile.DIRTYPE)))


@pytest.mark.parametrize("where", ["short", "long"])
def test_a_zero_byte_in_a_name_is_refused(tmp_path: Path, where: str) -> None:
    name = "a\0b" if where == "short" else "a\0b" + "c" * 120
    assert "zero byte" in refusal(made(tmp_path, info(name)))


@pytest.mark.parametrize(("kind", "reason"), [
    (tarfile.LNKTYPE, "'x' is a hard link"),
    (tarfile.CHRTYPE, "'x' is a device"),
    (tarfile.BLKTYPE, "'x' is a device"),
    (tarfile.FIFOTYPE, "'x' is a FIFO"),
    (tarfile.CONTTYPE, "'x' is of an unknown kind"),
    (tarfile.GNUTYPE_SPARSE, "'x' is of an unknown kind"),
    (b"Z", "'x' is of an unknown kind"),
])
def test_what_is_no_file_directory_or_link_is_refused(tmp_path: Path, kind: bytes,
                                                      reason: str) -> None:
    assert reason in refusal(made(tmp_path, info("a"), info("x", kind, "a")))


def test_extended_pax_headers_are_refused(tmp_path: Path) -> None:
    member = info("x")
    member.pax_headers = {"path": "../up"}
    raw = raw_tar(member, form=tarfile.PAX_FORMAT)
    assert "unknown kind ('x')" in refusal(packed(tmp_path, raw))


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    assert "'a' is in it twice" in refusal(made(tmp_path, info("a"), info("a")))
    assert "'a' is in it twice" in refusal(
        made(tmp_path, info("a", tarfile.SYMTYPE, "b"), info("a", tarfile.DIRTYPE)))


def test_nothing_may_lie_below_a_link_or_a_file_or_in_nowhere(tmp_path: Path) -> None:
    link = info("a", tarfile.SYMTYPE, "b")
    assert "'a/x' lies below a link" in refusal(made(tmp_path, link, info("a/x")))
    assert "'a/x' lies below a file" in refusal(made(tmp_path, info("a"), info("a/x")))
    assert "'a/x' lies in no directory" in refusal(made(tmp_path, info("a/x"), link))


@pytest.mark.parametrize(("name", "target"), [
    ("a", "/etc"), ("a", ".."), ("a", "../x"), ("d/a", "../../x"), ("d/a", "./.././../x"),
    # d/b leads to the top, so this one leads above it although its `..` seem to cancel out
    ("a", "d/b/../secret"),
])
def test_a_link_that_leads_out_is_refused_unless_allowed(tmp_path: Path, name: str,
                                                         target: str) -> None:
    path = made(tmp_path, info("d", tarfile.DIRTYPE), info(name, tarfile.SYMTYPE, target))
    assert f"the link '{name}' leads out of the tree, to '{target}'." in refusal(path)
    assert read(path, allow_links_out=True)[1][3] == target.encode()


def test_a_link_may_not_leave_the_directory_that_links_belong_to(tmp_path: Path) -> None:
    folders = [info("files", tarfile.DIRTYPE), info("files/d", tarfile.DIRTYPE)]
    inside = made(tmp_path, *folders, info("files/d/a", tarfile.SYMTYPE, "../b"))
    assert len(read(inside, top=b"files")) == 3
    outside = made(tmp_path, *folders, info("files/d/a", tarfile.SYMTYPE, "../../b"))
    assert "leads out" in refusal(outside, top=b"files")


def test_links_that_stay_inside_are_fine() -> None:
    for name, target in ((b"a", b"b"), (b"a", b"."), (b"d/a", b".."), (b"d/e/a", b"../../b/c"),
                         (b"a", b"..."), (b"a", b"b//c/")):
        assert not leads_out(name, target)


def test_a_link_without_a_target_is_refused(tmp_path: Path) -> None:
    assert "target of the link 'a'" in refusal(made(tmp_path, info("a", tarfile.SYMTYPE, "")))
    assert "target of the link 'a'" in refusal(made(tmp_path, info("a", tarfile.SYMTYPE, "b\0c")))


def test_a_directory_with_content_is_refused(tmp_path: Path) -> None:
    raw = archive._pack_header(b"5", b"d/", 0o755, 512) + bytes(512 * 3)
    assert "'d' has content" in refusal(packed(tmp_path, raw))


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path, *(info(str(n)) for n in range(6)))
    monkeypatch.setattr(archive, "MAX_MEMBERS", 5)
    assert "more than 5 members" in refusal(path)


def test_names_in_a_reason_cannot_steer_the_terminal(tmp_path: Path) -> None:
    message = refusal(made(tmp_path, info("a\x1b[2J\n" + "b" * 5000, tarfile.FIFOTYPE)))
    assert message.isprintable() and len(message) < 500


# damage

def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (b"", b"hello", b"x" * 5000, raw_tar(info("a")),
                 gzip.compress(b"hello"), gzip.compress(b"x" * 5000)):
        path.write_bytes(data)
        assert "it is not a tar.gz file." in refusal(path)


def test_an_archive_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a", odd_members())
    whole = (tmp_path / "a").read_bytes()
    for size in (*range(0, len(whole), 97), len(whole) - 1):
        (tmp_path / "b").write_bytes(whole[:size])
        refusal(tmp_path / "b")
    raw = gzip.decompress(whole)
    for size in range(0, len(raw) - 10240, 256):
        refusal(packed(tmp_path, raw[:size]))


def test_what_follows_after_the_end_is_refused(tmp_path: Path) -> None:
    raw = raw_tar(info("a"))
    for data in (gzip.compress(raw) + b"x", gzip.compress(raw) + gzip.compress(b"x"),
                 gzip.compress(raw + b"x"), gzip.compress(raw + raw)):
        (tmp_path / "x").write_bytes(data)
        assert "something follows after its end" in refusal(tmp_path / "x")


def test_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(raw_tar(info("a"))))
    data[-5] ^= 1
    (tmp_path / "x").write_bytes(data)
    assert "damaged" in refusal(tmp_path / "x")
    raw = bytearray(raw_tar(info("a"), info("b")))
    raw[512] ^= 1
    assert "a header in it is damaged" in refusal(packed(tmp_path, bytes(raw)))


def test_long_names_without_a_member_are_refused(tmp_path: Path) -> None:
    long = archive._pack_header(b"L", b"././@LongLink", 0, 200) + bytes(512)
    assert "should follow" in refusal(packed(tmp_path, long + bytes(1024)))
    assert "two long names" in refusal(packed(tmp_path, long + long))


# bombs

def test_a_stream_over_the_callers_limit_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, raw_tar(info("a"), contents={"a": os.urandom(50_000)}))
    assert "unpacks to more than" in refusal(path, max_bytes=40_000)
    assert len(read(path, max_bytes=10240 * 6)) == 1


def test_an_announced_size_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = packed(tmp_path, archive._pack_header(b"0", b"a", 0o644, 1 << 60))
    assert "unpacks to more than 64 MB" in refusal(path)


def test_a_huge_name_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for kind in (b"L", b"K"):
        path = packed(tmp_path, archive._pack_header(kind, b"././@LongLink", 0, 2 << 20))
        assert "a name in it is 2097152 bytes long" in refusal(path)


BOMB = """
import sys, zlib
from memory import peak_mb
from rewind.errors import ArchiveRefused
from rewind.store import archive
path, shape = sys.argv[1:]
pack = zlib.compressobj(6, zlib.DEFLATED, 31)
zeros = bytes(1 << 20)
with open(path, "wb") as file:
    if shape == "file":
        file.write(pack.compress(archive._pack_header(b"0", b"a", 0o644, 60 << 20)))
    if shape == "names":
        for n in range(15_000):
            name = b"%08d" % n * 1250
            file.write(pack.compress(archive._pack_header(b"L", b"@", 0, len(name)) + name
                       + bytes(-len(name) % 512) + archive._pack_header(b"5", b"", 0o755, 0)))
    else:
        for _ in range(400):
            file.write(pack.compress(zeros))
    file.write(pack.flush())
try:
    with open(path, "rb") as file:
        for member in archive.ArchiveReader(file, path, forbidden=lambda part: False):
            while member.left:
                member.read(1 << 20)
except ArchiveRefused as error:
    print(error.message)
print(peak_mb())
"""


@pytest.mark.parametrize("shape", ["zeros", "file", "names"])
def test_a_bomb_is_refused_in_little_memory(tmp_path: Path, shape: str) -> None:
    done = subprocess.run([sys.executable, "-c", BOMB, str(tmp_path / "bomb"), shape], check=True,
                          env={"PYTHONPATH": f"{SRC}:{TESTS}"}, capture_output=True, text=True)
    message, megabytes = done.stdout.splitlines()
    assert "something follows" in message or "unpacks to more than" in message
    assert int(megabytes) < 100


# nothing but a refusal

@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_changed_stream_is_read_or_refused_but_never_anything_else(tmp_path_factory: Any,
                                                                     data: st.DataObject) -> None:
    raw = bytearray(raw_tar(info("a", tarfile.DIRTYPE), info("a/b"), info("l", tarfile.SYMTYPE, "a"),
                            info("n" * 150), contents={"a/b": b"hello" * 200}))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        for at in range(0, len(raw), 512):  # with right checksums, changed headers get further
            block = raw[at:at + 512]
            if block[257:262] == b"ustar":
                total = sum(block) - sum(block[148:156]) + 256
                raw[at + 148:at + 156] = b"%06o\0 " % total
    packed_bytes = bytearray(gzip.compress(bytes(raw), 1, mtime=0))
    if data.draw(st.booleans()):
        packed_bytes[data.draw(st.integers(0, len(packed_bytes) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "changed.tar.gz"
    path.write_bytes(packed_bytes[:data.draw(st.integers(0, len(packed_bytes)))
                                  if data.draw(st.booleans()) else len(packed_bytes)])
    try:
        names = [name for _, name, _, _, _ in read(path)]
    except ArchiveRefused:
        return
    assert len(set(names)) == len(names) and b"" not in names
