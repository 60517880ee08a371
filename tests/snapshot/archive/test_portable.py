from __future__ import annotations

import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rewind
from other_pythons import examples
from rewind.errors import ArchiveRefused, FileNotThere, FormatTooNew, RewindError, StoreDamaged
from rewind.snapshot.archive import manifest as manifests
from rewind.snapshot.archive import portable
from rewind.snapshot.archive.portable import links_out, read_snapshot, write_snapshot
from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.trees.tree import CHUNKED, DIR, FILE, LINK, UNCOVERED, Tree, TreeEntry, encode_pieces
from rewind.store.blobs import CHUNK
from rewind.store.objects import ObjectStore

SRC = os.path.dirname(os.path.dirname(os.path.abspath(rewind.__file__)))
TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPEN: list[ObjectStore] = []
RULES = Rules(builtin=b"", pins=[b"caf\xe9"]).to_json()


class Saved:
    """A snapshot in a store of its own, as a checkpoint would have it."""

    def __init__(self, folder: Path, root: bytes, store: ObjectStore) -> None:
        self.root = root
        self.store = store
        self.path = folder / "snapshot.tar.gz"
        self.metadata: dict[str, Any] = {
            "format": 1, "name": "20261115_101502_003", "description": "caf\udce9",
            "code": {"format": "objects", "tree": root.hex(), "rules": sha256(RULES).hexdigest()}}

    def tree(self, oid: bytes) -> Tree:
        return Tree.decode(self.store.get(oid))

    def write(self) -> Path:
        with self.path.open("wb") as file:
            write_snapshot(file, self.metadata, self.root, self.tree, self.store, RULES)
        return self.path


def new_store(path: Path) -> ObjectStore:
    OPEN.append(ObjectStore(str(path), create=True))
    return OPEN[-1]


@pytest.fixture(autouse=True)
def stores_are_closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def saved(folder: Path, source: Path, rules: Rules | None = None) -> Saved:
    store = new_store(folder / "source.db")
    found = scan(os.fsencode(source), rules or Rules(builtin=b""), ScanCache(None), store, keep=True)
    store.commit()
    return Saved(folder, found.root, store)


def planted(folder: Path, make: Callable[[ObjectStore], bytes]) -> Saved:
    """A snapshot that no file system here could hold."""
    store = new_store(folder / "source.db")
    return Saved(folder, make(store), store)


def fresh(folder: Path) -> ObjectStore:
    return new_store(folder / "target.db")


def everything(store: ObjectStore, root: bytes) -> dict[bytes, bytes]:
    """Every object that a snapshot needs."""
    found = {root: store.get(root)}
    for entry in Tree.decode(found[root]).entries.values():
        if entry.kind == DIR:
            found.update(everything(store, entry.ref))
        elif entry.kind in (FILE, CHUNKED):
            found[entry.ref] = store.get(entry.ref)
            if entry.kind == CHUNKED:
                for at in range(8, len(found[entry.ref]), 40):
                    piece = found[entry.ref][at:at + 32]
                    found[piece] = store.get(piece)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


def odd_tree(folder: Path) -> None:
    top = os.fsencode(folder)
    for i, name in enumerate((b"-rf", b"new\nline", b"caf\xe9", "grün".encode(), b"n" * 255, b"a",
                              b"a-b", b"a.b", b"\xff", b":colon", b"back\\slash")):
        with open(top + b"/" + name, "wb") as file:
            file.write(name * i * 50)
        os.chmod(top + b"/" + name, (0o600, 0o755, 0o4755, 0o444)[i % 4])
    deep = top
    for letter in (b"x", b"y", b"z"):
        deep += b"/" + letter * 150
        os.mkdir(deep, 0o750)
    with open(deep + b"/file", "wb") as file:
        file.write(b"deep")
    (folder / "empty").mkdir(mode=0o700)
    (folder / "sticky").mkdir()
    os.chmod(folder / "sticky", 0o1777)
    (folder / "d").mkdir()
    (folder / "d" / "x").write_bytes(b"")
    os.symlink("a", folder / "link")
    os.symlink("../a", folder / "d" / "up")
    os.symlink(b"missing" + b"/n" * 90 + b"\xff", top + b"/dangling")
    (folder / "large").write_bytes(os.urandom(2 * CHUNK + 5))
    (folder / "exact").write_bytes(bytes(CHUNK))
    (folder / "double").write_bytes(bytes(2 * CHUNK))
    os.mkfifo(folder / "fifo")


@pytest.mark.slow
def test_an_odd_tree_comes_back_exactly(tmp_path: Path, source: Path) -> None:
    odd_tree(source)
    there = saved(tmp_path, source)
    target = fresh(tmp_path)
    seen: list[tuple[str, int, int]] = []
    found = read_snapshot(str(there.write()), target, progress=lambda *args: seen.append(args))
    assert found.root == there.root
    assert found.metadata == there.metadata
    assert found.rules == RULES
    assert found.files == 19
    assert found.bytes > 4 * CHUNK
    assert everything(target, found.root) == everything(there.store, there.root)
    assert there.tree(there.root).entries[b"fifo"].kind == UNCOVERED
    assert {what for what, _, _ in seen} == {"Checking the archive", "Importing"}
    assert all(0 < done <= total for _, done, total in seen)


def test_what_was_not_captured_and_why_comes_back(tmp_path: Path, source: Path) -> None:
    subprocess.run(["git", "init", "-q", str(source)], check=True)
    (source / ".gitignore").write_text("secret\nlarge*\nlog/\n")
    (source / "log").mkdir()
    for name in ("log/pinned", "log/other", "large"):
        (source / name).write_bytes(bytes(3000))
    rules = Rules(builtin=b"", file_bytes=1000, dir_bytes=1000, pins=[b"log/pinned"])
    there = saved(tmp_path, source, rules)
    log = there.tree(there.tree(there.root).entries[b"log"].ref)
    assert log.partial == b"pins-only"  # or this test tests nothing
    found = read_snapshot(str(there.write()), fresh(tmp_path))
    assert found.root == there.root


def test_the_top_directory_may_be_partial(tmp_path: Path) -> None:
    there = planted(tmp_path, lambda store: store.put(Tree({}, b"pins-only").encode()))
    assert read_snapshot(str(there.write()), fresh(tmp_path)).root == there.root


def test_names_longer_than_this_file_system_allows_come_back(tmp_path: Path) -> None:
    def make(store: ObjectStore) -> bytes:
        tree = store.put(Tree({b"n" * 300: TreeEntry(FILE, 0o644, 2, store.put(b"hi"))}).encode())
        for _ in range(1200):  # deeper than Python recurses
            tree = store.put(Tree({b"d" * 3: TreeEntry(DIR, 0o755, 0, tree)}).encode())
        return tree

    there = planted(tmp_path, make)
    assert read_snapshot(str(there.write()), fresh(tmp_path)).root == there.root


def test_an_empty_project_comes_back(tmp_path: Path, source: Path) -> None:
    there = saved(tmp_path, source)
    assert read_snapshot(str(there.write()), fresh(tmp_path)).root == there.root


@pytest.mark.slow
def test_the_same_snapshot_gives_the_same_bytes(tmp_path: Path, source: Path) -> None:
    odd_tree(source)
    there = saved(tmp_path, source)
    first = there.write().read_bytes()
    assert there.write().read_bytes() == first


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tar"), reason="there is no tar here")
def test_tar_unpacks_a_snapshot(tmp_path: Path, source: Path) -> None:
    odd_tree(source)
    os.unlink(source / "fifo")
    there = saved(tmp_path, source)
    names = subprocess.run(["tar", "tzf", str(there.write())], capture_output=True, check=True)
    assert names.stdout.startswith(b"manifest.json\nfiles/\nfiles/-rf\n") and not names.stderr
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "xzpf", str(there.path)], cwd=tmp_path / "out", check=True)
    assert json.loads((tmp_path / "out" / "manifest.json").read_bytes())["format"] == 1
    (tmp_path / "again").mkdir()
    again = saved(tmp_path / "again", tmp_path / "out" / "files")
    assert again.root == there.root


def test_members_come_directory_by_directory_in_the_order_of_names(tmp_path: Path,
                                                                  source: Path) -> None:
    for name in ("a/z", "a-b", "a.b", "b/c/d"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")
    with tarfile.open(saved(tmp_path, source).write()) as tar:
        assert tar.getnames() == ["manifest.json", "files", "files/a", "files/a/z", "files/a-b",
                                  "files/a.b", "files/b", "files/b/c", "files/b/c/d"]


def test_links_that_an_import_would_refuse_are_known_beforehand(tmp_path: Path,
                                                               source: Path) -> None:
    (source / "d").mkdir()
    os.symlink("../ok", source / "d" / "fine")
    there = saved(tmp_path, source)
    assert links_out(there.root, there.tree) == []
    there.store.close()
    os.symlink("/etc/passwd", source / "absolute")
    os.symlink("../../x", source / "d" / "above")
    there = saved(tmp_path, source)
    assert links_out(there.root, there.tree) == [b"absolute", b"d/above"]
    target = fresh(tmp_path)
    with pytest.raises(ArchiveRefused, match="'files/absolute' leads out of the tree"):
        read_snapshot(str(there.write()), target)
    assert list(target.ids()) == []
    assert read_snapshot(str(there.path), target, allow_links_out=True).root == there.root


def test_a_file_cut_in_an_unusual_way_is_not_written_as_if_it_would_come_back(
        tmp_path: Path) -> None:
    def make(store: ObjectStore) -> bytes:
        pieces = store.put(encode_pieces([(2, store.put(b"ab")), (1, store.put(b"c"))]))
        return store.put(Tree({b"f": TreeEntry(CHUNKED, 0o644, 3, pieces)}).encode())

    with pytest.raises(StoreDamaged):
        planted(tmp_path, make).write()


# what is refused, with nothing put into the store

def manifest_for(root: Tree, **changes: Any) -> dict[str, Any]:
    code = {"tree": sha256(root.encode()).hexdigest(), "rules": sha256(RULES).hexdigest()}
    return {"format": 1, "metadata": {"code": code}, "rules": json.loads(RULES), "uncovered": [],
            "partial": [], **changes}


def make(path: Path, manifest: Any, *members: tuple[str, bytes, str | bytes]) -> Path:
    """An archive with these members: (name, kind, target or content)."""
    raw = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        for name, kind, rest in (("manifest.json", tarfile.REGTYPE, raw), *members):
            member = tarfile.TarInfo(name)
            member.type = kind
            if isinstance(rest, str):
                member.linkname = rest
                tar.addfile(member)
            else:
                member.size = len(rest)
                tar.addfile(member, io.BytesIO(rest))
    return path


F, D, L = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
TOP = ("files", D, "")
HELLO = Tree({b"hello": TreeEntry(FILE, 0o644, 2, sha256(b"hi").digest())})
HELLO_MEMBERS = (TOP, ("files/hello", F, b"hi"))


def refusal(tmp_path: Path, path: Path, **options: Any) -> str:
    target = fresh(tmp_path)
    with pytest.raises(ArchiveRefused) as caught:
        read_snapshot(str(path), target, **options)
    assert list(target.ids()) == []
    target.rollback()
    target.close()
    return caught.value.message


def test_an_archive_made_by_others_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "x", manifest_for(HELLO), *HELLO_MEMBERS)
    target = fresh(tmp_path)
    root = read_snapshot(str(path), target).root
    assert Tree.decode(target.get(root)).entries == HELLO.entries


@pytest.mark.parametrize(("members", "reason"), [
    ([("/etc/x", F, b"")], "absolute"),
    ([("files/../../x", F, b"")], "has '..' in it"),
    ([("files/./x", F, b"")], "has '.' in it"),
    ([("files//x", F, b"")], "has '' in it"),
    ([("files/.Git", D, "")], "has '.Git' in it"),
    ([("files/x", tarfile.LNKTYPE, "files/hello")], "hard link"),
    ([("files/x", tarfile.CHRTYPE, "")], "device"),
    ([("files/x", tarfile.BLKTYPE, "")], "device"),
    ([("files/x", tarfile.FIFOTYPE, "")], "FIFO"),
    ([("files/x", b"V", "")], "unknown kind"),
    ([("files/hello", F, b"hi")], "twice"),
    ([("files/x", L, "/etc")], "leads out"),
    ([("files/x", L, "../manifest.json")], "leads out"),
    ([("files/x", L, "hello"), ("files/x/y", F, b"")], "below a link"),
    ([("files/hello/y", F, b"")], "below a file"),
    ([("files/a/y", F, b"")], "in no directory"),
    ([("other", F, b"")], "'other' is not part of a snapshot"),
    ([("manifest.json", F, b"{}")], "twice"),
    ([("files/a", D, ""), ("files/b", D, ""), ("files/a/x", F, b"")], "does not follow its directory"),
    ([("files/x", F, b"")], "does not match its manifest"),
    ([("files/x", D, "")], "does not match its manifest"),
])
def test_a_hostile_member_costs_the_whole_archive(tmp_path: Path, members: list[Any],
                                                  reason: str) -> None:
    path = make(tmp_path / "x", manifest_for(HELLO), *HELLO_MEMBERS, *members)
    assert reason in refusal(tmp_path, path)


def test_missing_or_changed_content_is_refused(tmp_path: Path) -> None:
    for members in ([TOP], [TOP, ("files/hello", F, b"ho")], []):
        path = make(tmp_path / "x", manifest_for(HELLO), *members)
        assert "does not match its manifest" in refusal(tmp_path, path)
    path = make(tmp_path / "x", manifest_for(HELLO), ("files", L, "elsewhere"))
    assert "'files' is not part of a snapshot" in refusal(tmp_path, path)


def rules_with(**changes: Any) -> dict[str, Any]:
    value = {**json.loads(RULES), **changes}
    blob = json.dumps(value, sort_keys=True).encode()
    return manifest_for(HELLO, rules=value, metadata={
        "code": {"tree": "00" * 32, "rules": sha256(blob).hexdigest()}})


@pytest.mark.parametrize(("manifest", "reason"), [
    (b"", "not usable"),
    (b"\xff\xfe", "not usable"),
    (b"[]", "not an object"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"format": 1' + b"1" * 5000 + b"}", "too long"),
    (b'{"format": NaN}', "NaN"),
    (b"[" + b"0," * 2_000_001 + b"0]", "too many values"),
    ({}, "format"),
    ({"format": True}, "format"),
    ({"format": 0}, "format"),
    (manifest_for(HELLO, metadata=[]), "'metadata'"),
    (manifest_for(HELLO, metadata={}), "'code'"),
    (manifest_for(HELLO, metadata={"code": {"tree": "00"}}), "id of its tree"),
    (manifest_for(HELLO, metadata={"code": {"tree": "0" * 64, "rules": "g" * 64}}), "id of its rules"),
    (manifest_for(HELLO, metadata={"code": {"tree": "0" * 64, "rules": "0" * 64}}), "its rules are not"),
    (manifest_for(HELLO, rules={}), "rules"),
    (rules_with(builtin=7), "rules"),
    (rules_with(ignored="some"), "rules"),
    (rules_with(maxBytes="1"), "rules"),
    (rules_with(pins=None), "rules"),
    (rules_with(outer=[["a"]]), "rules"),
    (rules_with(builtin="\ud800"), "rules"),
    (manifest_for(HELLO, uncovered=None), "'uncovered'"),
    (manifest_for(HELLO, uncovered=[["x"]]), "malformed"),
    (manifest_for(HELLO, uncovered=[["x", 1]]), "malformed"),
    (manifest_for(HELLO, uncovered=[["../x", "ignored"]]), "'../x' may not be there"),
    (manifest_for(HELLO, uncovered=[["a/.git", "ignored"]]), "may not be there"),
    (manifest_for(HELLO, uncovered=[["", "ignored"]]), "may not be there"),
    (manifest_for(HELLO, uncovered=[["a\0", "ignored"]]), "may not be there"),
    (manifest_for(HELLO, uncovered=[["a\ud800", "ignored"]]), "not usable"),
    (manifest_for(HELLO, uncovered=[["x", "a\nb"]]), "reason"),
    (manifest_for(HELLO, uncovered=[["x", ""]]), "reason"),
    (manifest_for(HELLO, uncovered=[["x", "ignored"], ["x", "special"]]), "'x' twice"),
    (manifest_for(HELLO, uncovered=[["hello", "ignored"]]), "lists 'files/hello' as not captured"),
    (manifest_for(HELLO, uncovered=[["nowhere/x", "ignored"]]), "names 'nowhere'"),
    (manifest_for(HELLO, uncovered=[["hello/x", "ignored"]]), "names 'hello'"),
    (manifest_for(HELLO, partial=[["nowhere", "pins-only"]]), "names 'nowhere'"),
    (manifest_for(HELLO, partial=[["", "pins-only"]]), "does not match its manifest"),
    (manifest_for(HELLO, uncovered=[["x", "ignored"]]), "does not match its manifest"),
])
def test_a_hostile_manifest_costs_the_whole_archive(tmp_path: Path, manifest: Any,
                                                    reason: str) -> None:
    path = make(tmp_path / "x", manifest, *HELLO_MEMBERS)
    assert reason in refusal(tmp_path, path)


def test_metadata_nested_too_deeply_to_be_written_again_is_refused(tmp_path: Path) -> None:
    manifest = manifest_for(HELLO)
    deep: Any = 0
    for _ in range(400):
        deep = [deep]
    manifest["metadata"]["x"] = deep
    path = make(tmp_path / "x", manifest, *HELLO_MEMBERS)
    assert "nested too deeply" in refusal(tmp_path, path)


def test_an_archive_without_a_manifest_at_its_start_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x", "w:gz", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("files"))
        tar.addfile(tarfile.TarInfo("manifest.json"))
    assert "does not begin with a manifest" in refusal(tmp_path, tmp_path / "x")
    (tmp_path / "x").write_bytes(gzip.compress(bytes(10240)))
    assert "does not begin with a manifest" in refusal(tmp_path, tmp_path / "x")


def test_a_huge_manifest_is_refused_before_it_is_read(tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "x", manifest_for(HELLO), *HELLO_MEMBERS)
    monkeypatch.setattr(manifests, "MAX_BYTES", 100)
    assert "its manifest is" in refusal(tmp_path, path)


def test_a_newer_format_is_not_guessed_at(tmp_path: Path) -> None:
    path = make(tmp_path / "x", {"format": 2}, *HELLO_MEMBERS)
    with pytest.raises(FormatTooNew):
        read_snapshot(str(path), fresh(tmp_path))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotThere):
        read_snapshot(str(tmp_path / "missing"), fresh(tmp_path))
    assert "not a regular file" in refusal(tmp_path, tmp_path)
    os.mkfifo(tmp_path / "fifo")
    assert "not a regular file" in refusal(tmp_path, tmp_path / "fifo")


@pytest.mark.slow
def test_a_bomb_among_the_files_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "x", manifest_for(HELLO), TOP, ("files/hello", F, bytes(100 << 20)))
    assert path.stat().st_size < 1 << 20
    assert "unpacks to more than" in refusal(tmp_path, path)
    assert "does not match" in refusal(tmp_path, path, max_bytes=1 << 30)


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path: Path, source: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    (source / "f").write_text("first")
    first = saved(tmp_path, source)
    path = first.write()
    (source / "f").write_text("other")
    (tmp_path / "second").mkdir()
    second = saved(tmp_path / "second", source).write().read_bytes()
    read = portable._read

    def read_then_change(*args: Any) -> Any:
        found = read(*args)
        path.write_bytes(second)  # in place: the descriptor stays the same
        return found

    monkeypatch.setattr(portable, "_read", read_then_change)
    with pytest.raises(ArchiveRefused, match="it changed while it was read"):
        read_snapshot(str(path), fresh(tmp_path))


MEMORY = """
import sys
from memory import peak_mb
from rewind.snapshot.archive.portable import read_snapshot
from rewind.store.objects import ObjectStore
read_snapshot(sys.argv[1], ObjectStore(sys.argv[2], create=True), max_bytes=1 << 40)
print(peak_mb())
"""


@pytest.mark.slow
def test_a_large_file_is_never_in_memory_as_a_whole(tmp_path: Path, source: Path) -> None:
    with (source / "large").open("wb") as file:
        file.truncate(200 << 20)
    there = saved(tmp_path, source, Rules(builtin=b"", max_bytes=1 << 40))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    there.write()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 60 << (10 if sys.platform == "linux" else 20)
    done = subprocess.run([sys.executable, "-c", MEMORY, str(there.path), str(tmp_path / "t.db")],
                          check=True, env={"PYTHONPATH": f"{SRC}:{TESTS}"}, capture_output=True, text=True)
    assert int(done.stdout) < 100


# universal claims

NAMES = st.binary(min_size=1, max_size=8).filter(
    lambda n: b"/" not in n and b"\0" not in n and n not in (b".", b"..") and n.lower() != b".git")
LEAVES = st.one_of(
    st.tuples(st.just(FILE), st.integers(0, 0o7777), st.binary(max_size=700)),
    st.tuples(st.just(LINK), st.just(0), NAMES),
    st.tuples(st.just(UNCOVERED), st.just(0), st.sampled_from([b"ignored", b"too-large"])))
TREES = st.recursive(st.dictionaries(NAMES, LEAVES, max_size=4), lambda below: st.dictionaries(
    NAMES, st.one_of(LEAVES, st.tuples(st.just(DIR), st.integers(0, 0o7777), below)), max_size=4))


def put_tree(store: ObjectStore, tree: dict[bytes, Any]) -> bytes:
    entries = {}
    for name, (kind, mode, rest) in tree.items():
        size = len(rest) if kind in (FILE, LINK) else 0
        ref = put_tree(store, rest) if kind == DIR else store.put(rest) if kind == FILE else rest
        entries[name] = TreeEntry(kind, mode, size, ref)
    return store.put(Tree(entries, b"pins-only" if len(tree) == 2 else b"").encode())


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(TREES)
def test_every_tree_comes_back(tmp_path_factory: Any, tree: dict[bytes, Any]) -> None:
    folder = tmp_path_factory.mktemp("tree")
    there = planted(folder, lambda store: put_tree(store, tree))
    target = fresh(folder)
    assert read_snapshot(str(there.write()), target).root == there.root
    assert everything(target, there.root) == everything(there.store, there.root)
    there.store.close()
    target.close()


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_changed_archive_is_refused_or_holds_what_it_claims(tmp_path_factory: Any,
                                                              data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("changed")
    tree = Tree({**HELLO.entries, b"x": TreeEntry(UNCOVERED, 0, 0, b"ignored")})
    path = make(folder / "x", manifest_for(tree, uncovered=[["x", "ignored"]]), *HELLO_MEMBERS)
    raw = bytearray(gzip.decompress(path.read_bytes()))
    used = len(bytes(raw).rstrip(b"\0"))
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, used - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        for at in range(0, len(raw), 512):
            block = raw[at:at + 512]
            if block[257:262] == b"ustar":
                raw[at + 148:at + 156] = b"%06o\0 " % (sum(block) - sum(block[148:156]) + 256)
    path.write_bytes(gzip.compress(bytes(raw[:data.draw(st.integers(used // 2, len(raw)))]), 1))
    target = fresh(folder)
    try:
        found = read_snapshot(str(path), target)
    except RewindError:
        assert list(target.ids()) == []
    else:
        assert found.root.hex() == found.metadata["code"]["tree"]
        everything(target, found.root)
    finally:
        target.rollback()
        target.close()
