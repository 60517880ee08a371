"""Scans beside a real Watchman: only what it tells is looked at, and everything where it cannot tell."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.scan import walk
from rewind.snapshot.scan.build import Snapshot
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.watchman import monitor as monitoring
from rewind.snapshot.watchman.monitor import Monitor
from rewind.snapshot.watchman.server import NoAnswer, Refused, Server
from rewind.store.derived import DerivedDb
from rewind.store.objects import ObjectStore
from watchman_server import PROGRAM, WatchmanServer

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="Watchman is missing. On Debian: apt-get install watchman"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchmanServer]:
    server = WatchmanServer(tmp_path / "watchman")
    server.start()
    yield server
    server.stop()


class Watched:
    """A project that is scanned as a save does it. Files count as settled at once, so that nothing is looked
    at again for being new: what a scan sees, Watchman has told it."""

    def __init__(self, root: Path, state: Path, server: WatchmanServer) -> None:
        self.root = root
        self.server = server
        self.rules = Rules(builtin=b"node_modules/\n")
        self.store = ObjectStore(str(state / "objects.db"), create=True)
        self.derived = DerivedDb(str(state / "scan-cache.db"), "owner")
        self.cache = ScanCache(self.derived)
        self.listed: list[str] = []
        self.monitor = self.new_monitor()

    def new_monitor(self, check: bool = False) -> Monitor:
        found = Monitor(os.fsencode(self.root), self.server.socket, 0, check=check)
        found._seconds = 20.0
        return found

    def look(self, *, check: bool = False, remember: bool = True, **options: Any) -> Snapshot:
        self.monitor = self.new_monitor(check)
        self.listed.clear()
        try:
            snapshot = scan(os.fsencode(self.root), self.rules, self.cache, self.store, keep=True,
                            processes=1, now_ns=1 << 62, monitor=self.monitor, **options)
        finally:
            self.monitor.close()
        if remember:
            self.store.commit()
            snapshot.remember(self.cache)
        return snapshot

    def whole(self) -> bytes:
        return scan(os.fsencode(self.root), self.rules, ScanCache(None), None, keep=False).root

    def sees(self) -> list[str]:
        """The directories that a scan lists; what it makes of them must be right."""
        found = self.look()
        listed = sorted(self.listed)
        assert not self.monitor.why, self.monitor.why
        assert found.root == self.whole()
        return listed

    def walks_all(self) -> str:
        """Why."""
        found = self.look()
        assert self.monitor.why
        assert found.root == self.whole()
        return self.monitor.why


    def begins_anew(self) -> str:
        """As `walks_all`, and Watchman crawls: the scan after it walks everything as well."""
        why = self.walks_all()
        assert self.walks_all() == "Watchman does not know what changed"
        return why


@pytest.fixture
def watched(tmp_path: Path, project: Path, server: WatchmanServer,
            monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    for folder in ("a/b/c", "a/d", "e/f"):
        (project / folder).mkdir(parents=True)
        (project / folder / "file").write_text(folder)
    state = tmp_path / "state"
    state.mkdir()
    found = Watched(project, state, server)
    monkeypatch.setattr("rewind.snapshot.scan.build.RACY_NS", 0)
    monkeypatch.setattr("rewind.snapshot.scan.scan.RACY_NS", 0)
    monkeypatch.setattr("time.time_ns", lambda: 1 << 61)
    plain = walk.Walker._rows

    def rows(walker: walk.Walker, folder: bytes) -> list[Any]:
        found.listed.append(os.fsdecode(folder))
        return plain(walker, folder)

    monkeypatch.setattr(walk.Walker, "_rows", rows)
    assert found.begins_anew() == "Watchman does not know what changed"
    yield found
    found.store.close()
    found.derived.close()


def test_where_nothing_changed_nothing_is_listed(watched: Watched) -> None:
    assert watched.sees() == []


def test_only_what_changed_and_the_way_to_it_is_listed(watched: Watched) -> None:
    (watched.root / "a" / "b" / "file").write_text("new")
    assert watched.sees() == ["", "a", "a/b"]
    assert watched.sees() == []


def edit_unseen(root: Path) -> None:
    path = root / "a" / "d" / "file"
    info = path.stat()
    path.write_text("d/a")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def swap(root: Path) -> None:
    (root / "a" / "b").rename(root / "spare")
    (root / "e" / "f").rename(root / "a" / "b")
    (root / "spare").rename(root / "e" / "f")


def become_link(root: Path) -> None:
    (root / "a" / "b").rename(root / "moved")
    (root / "a" / "b").symlink_to(root / "moved")


CHANGES: dict[str, Callable[[Path], object]] = {
    "an edit with the old time and size": edit_unseen,
    "a deleted file": lambda root: (root / "a" / "b" / "c" / "file").unlink(),
    "a deleted directory": lambda root: shutil.rmtree(root / "a"),
    "a new directory": lambda root: shutil.copytree(root / "a", root / "e" / "copy"),
    "a renamed directory": lambda root: (root / "a").rename(root / "e" / "f" / "a"),
    "a directory that becomes a link": become_link,
    "the mode of a file": lambda root: (root / "a" / "d" / "file").chmod(0o700),
    "the mode of a directory": lambda root: (root / "a" / "d").chmod(0o700),
    "a name that is not text": lambda root: (root / "a" / os.fsdecode(b"\xff\n\"x")).write_text("x"),
    "an ignore file": lambda root: (root / "a" / ".gitignore").write_text("c/\n"),
    "an ignore file at the top": lambda root: (root / ".rewindignore").write_text("file\n"),
    "something in a directory that is not protected": lambda root: os.makedirs(root / "node_modules" / "x"),
}


@pytest.mark.parametrize("change", list(CHANGES.values()), ids=list(CHANGES))
def test_every_kind_of_change_is_seen(watched: Watched, change: Callable[[Path], object]) -> None:
    before = watched.whole()
    change(watched.root)
    watched.sees()
    assert watched.whole() != before or change is CHANGES["something in a directory that is not protected"]
    assert watched.sees() == []


def swap_twice(root: Path) -> None:
    swap(root)
    swap(root)


def swap_and_rename_both_above(root: Path) -> None:
    swap(root)
    (root / "a").rename(root / "g")
    (root / "e").rename(root / "h")


def swap_in_a_renamed_directory(root: Path) -> None:
    (root / "a" / "b").rename(root / "spare")
    (root / "a" / "d").rename(root / "a" / "b")
    (root / "spare").rename(root / "a" / "d")
    (root / "a").rename(root / "e" / "a")


def rename_two(root: Path) -> None:
    (root / "a" / "b").rename(root / "a" / "g")
    (root / "e" / "f").rename(root / "e" / "g")


PLACES = [swap, swap_twice, swap_and_rename_both_above, swap_in_a_renamed_directory, rename_two]


@pytest.mark.parametrize("change", PLACES)
def test_watchman_crawls_again_where_directories_change_places(
        watched: Watched, change: Callable[[Path], object]) -> None:
    change(watched.root)
    assert watched.begins_anew() == "directories have changed places"
    folders = {str(path.parent.relative_to(watched.root)) for path in watched.root.rglob("file")}
    for folder in folders:
        (watched.root / folder / "file").write_text("in " + folder)
    assert folders <= {*watched.sees()}
    assert watched.sees() == []


def rules_change(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.rules = Rules(builtin=b"other/\n")
    assert watched.walks_all() == "the rules changed, or too many paths did"


def check_is_due(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "SCANS", 1)
    assert watched.walks_all() == "directories have changed places"
    monkeypatch.undo()


def no_answer(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.server.send(signal.SIGSTOP)
    in_vain(watched, monkeypatch)
    watched.server.send(signal.SIGCONT)
    watched.walks_all()


def another_walk(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that asks nobody, as for a checkpoint that is late."""
    found = scan(os.fsencode(watched.root), watched.rules, watched.cache, watched.store, keep=True)
    watched.store.commit()
    found.remember(watched.cache)
    watched.walks_all()


@pytest.mark.parametrize("meanwhile", [rules_change, check_is_due, no_answer, another_walk])
def test_directories_that_changed_places_before_a_whole_walk(
        watched: Watched, monkeypatch: pytest.MonkeyPatch,
        meanwhile: Callable[[Watched, pytest.MonkeyPatch], None]) -> None:
    asked = []
    plain = Server.ask

    def ask(server: Server, *command: Any) -> dict[bytes, Any]:
        asked.append(command[0])
        return plain(server, *command)

    monkeypatch.setattr(Server, "ask", ask)
    swap(watched.root)
    with pytest.MonkeyPatch.context() as patch:
        meanwhile(watched, patch)
    assert asked.count("debug-recrawl") == 1
    assert watched.walks_all() == "Watchman does not know what changed"
    assert watched.sees() == []
    assert not watched.monitor.missed


@pytest.mark.parametrize("refuses", [False, True])
def test_watchman_is_not_believed_before_it_has_crawled_again(
        watched: Watched, monkeypatch: pytest.MonkeyPatch, refuses: bool) -> None:
    """It refuses, or does not answer any more."""
    plain = Server.ask

    def ask(server: Server, *command: Any) -> dict[bytes, Any]:
        if command[0] == "debug-recrawl":
            raise Refused("not this one") if refuses else NoAnswer("it did not answer in time")
        return plain(server, *command)

    swap(watched.root)
    with monkeypatch.context() as patch:
        patch.setattr(Server, "ask", ask)
        assert watched.walks_all() == "directories have changed places"
        (watched.root / "a" / "b" / "file").write_text("unheard of, perhaps")
        assert watched.walks_all() == "Watchman does not know what changed"
        assert watched.walks_all() == "Watchman does not know what changed"
    watched.begins_anew()
    assert watched.sees() == []


def test_one_that_leaves_something_out_is_not_made_to_crawl_each_time(
        watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    (watched.root / ".watchmanconfig").write_text('{"ignore_dirs": ["a/b"]}')
    watched.server.command("watch-del", str(watched.root))
    monkeypatch.setattr(Monitor, "_crawls_again", lambda *args: pytest.fail("it has to crawl"))
    watched.walks_all()
    watched.walks_all()


def test_one_that_would_not_say_that_it_lost_track_is_not_asked(watched: Watched) -> None:
    (watched.root / ".watchmanconfig").write_text('{"suppress_recrawl_warnings": true}')
    watched.server.command("watch-del", str(watched.root))
    assert watched.walks_all() == "its settings suppress warnings that it lost track"
    (watched.root / ".watchmanconfig").unlink()
    watched.server.command("watch-del", str(watched.root))
    watched.walks_all()
    assert watched.sees() == []


def test_an_ignore_file_that_goes_is_seen(watched: Watched) -> None:
    (watched.root / "a" / ".rewindignore").write_text("b/\n")
    watched.sees()
    (watched.root / "a" / "b" / "c" / "file").write_text("while nobody looks")
    watched.sees()
    (watched.root / "a" / ".rewindignore").unlink()
    watched.sees()


def test_an_ignored_directory_grows_over_the_limit_and_shrinks(watched: Watched) -> None:
    watched.rules = Rules(builtin=b"", dir_files=3)
    (watched.root / ".gitignore").write_text("e/\n")
    watched.walks_all()
    for number in range(5):
        (watched.root / "e" / "f" / f"{number}.o").write_text("x")
    watched.sees()
    (watched.root / "e" / "f" / "file").write_text("x")
    watched.sees()
    for number in range(5):
        (watched.root / "e" / "f" / f"{number}.o").unlink()
    watched.sees()


def test_an_ignored_directory_with_a_pinned_file_shrinks(watched: Watched) -> None:
    """What was walked for the pin alone is walked for all that is in it, although nothing in it changed."""
    watched.rules = Rules(builtin=b"", dir_files=3, pins=[b"e/f/file"])
    (watched.root / ".gitignore").write_text("e/\n")
    (watched.root / "e" / "f" / "other").write_text("x")
    for number in range(5):
        (watched.root / "e" / f"{number}.o").write_text("x")
    watched.walks_all()
    before = watched.whole()
    for number in range(5):
        (watched.root / "e" / f"{number}.o").unlink()
    assert "e/f" in watched.sees()
    assert watched.whole() != before


def test_excludes_of_a_repository_in_it_are_looked_at_each_time(watched: Watched) -> None:
    """Watchman does not look into `.git`; and those of a linked work tree lie elsewhere."""
    apart = watched.root.parent / "apart.git"
    subprocess.run(["git", "init", "-q", str(watched.root / "a")], check=True)
    subprocess.run(["git", "init", "-q", f"--separate-git-dir={apart}", str(watched.root / "e")], check=True)
    watched.rules = Rules(builtin=b"node_modules/\n", policy="none")
    watched.walks_all()
    for exclude in (watched.root / "a" / ".git" / "info" / "exclude", apart / "info" / "exclude"):
        before = watched.whole()
        exclude.write_text("file\n")
        watched.sees()
        assert watched.whole() != before
    assert watched.sees() == ["", "a", "e"]


def test_a_change_while_a_scan_looks_is_told_to_the_next(watched: Watched,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Monitor.walk

    def walk_and_change(monitor: Monitor, *args: Any) -> Any:
        found = plain(monitor, *args)
        (watched.root / "e" / "f" / "file").write_text("during the scan")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Monitor, "walk", walk_and_change)
        watched.look()
    assert watched.sees() == ["", "e", "e/f"]


def test_a_scan_that_was_not_kept_does_not_count(watched: Watched) -> None:
    (watched.root / "a" / "d" / "file").write_text("new")
    watched.look(remember=False)
    assert watched.sees() == ["", "a", "a/d"]


def test_new_files_are_looked_at_twice(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the resolution of the clock a second change may leave no trace."""
    monkeypatch.setattr("rewind.snapshot.scan.scan.RACY_NS", 1 << 62)
    (watched.root / "a" / "d" / "file").write_text("new")
    watched.look()
    monkeypatch.setattr("rewind.snapshot.scan.scan.RACY_NS", 0)
    assert watched.sees() == ["", "a", "a/d"]
    assert watched.sees() == []


# doubts

def test_a_watchman_that_began_anew_knows_nothing(watched: Watched) -> None:
    watched.server.stop(signal.SIGKILL)
    (watched.root / "a" / "d" / "file").write_text("meanwhile")
    assert watched.walks_all()
    watched.server.start()
    assert watched.walks_all()
    assert watched.sees() == []
    watched.server.stop()
    watched.server.start(forget=True)
    assert "unable to resolve root" in watched.walks_all()
    assert watched.sees() == []


@pytest.mark.parametrize("command", ["debug-recrawl", "watch-del"])
def test_a_watchman_that_lost_track_is_not_believed(watched: Watched, command: str) -> None:
    assert watched.server.command(command, str(watched.root)).returncode == 0
    (watched.root / "a" / "d" / "file").write_text("meanwhile")
    watched.look()
    assert watched.monitor.why
    (watched.root / "e" / "f" / "file").write_text("later")
    assert watched.look().root == watched.whole()
    assert watched.sees() == []


def test_one_that_does_not_answer_is_none(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.server.send(signal.SIGSTOP)
    (watched.root / "a" / "d" / "file").write_text("meanwhile")
    with monkeypatch.context() as patch:
        in_vain(watched, patch)
    watched.server.send(signal.SIGCONT)
    watched.sees()


def in_vain(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = watched.new_monitor

    def hasty(check: bool = False) -> Monitor:
        found = plain(check)
        found._seconds = 0.1
        return found

    monkeypatch.setattr(watched, "new_monitor", hasty)
    assert watched.walks_all() == "it did not answer in time"
    monkeypatch.setattr(watched, "new_monitor", plain)


def test_other_rules_mean_a_whole_walk(watched: Watched) -> None:
    watched.rules = Rules(builtin=b"d/\n")
    watched.walks_all()
    assert watched.sees() == []
    watched.rules = Rules(builtin=b"d/\n", pins=[b"a/d/file"])
    watched.walks_all()
    assert watched.sees() == []


def test_another_directory_in_its_place_means_a_whole_walk(watched: Watched) -> None:
    watched.root.rename(watched.root.with_name("old"))
    shutil.copytree(watched.root.with_name("old"), watched.root)
    watched.walks_all()


def test_a_cache_that_was_forgotten_means_a_whole_walk(watched: Watched) -> None:
    watched.cache.forget([b"a/d"])
    watched.begins_anew()
    assert watched.sees() == []
    watched.cache.forget_all()
    watched.begins_anew()
    assert watched.sees() == []


def test_what_watchman_ignores_is_not_left_to_it(watched: Watched) -> None:
    (watched.root / ".watchmanconfig").write_text('{"ignore_dirs": ["a/b"]}')
    watched.server.command("watch-del", str(watched.root))
    watched.walks_all()
    (watched.root / "a" / "b" / "c" / "file").write_text("it does not know")
    watched.walks_all()
    shutil.rmtree(watched.root / "a" / "b")
    watched.begins_anew()
    assert watched.sees() == []


def test_what_watchman_takes_for_a_repository_is_not_left_to_it(watched: Watched) -> None:
    (watched.root / "e" / ".hg" / "store").mkdir(parents=True)
    watched.look()
    (watched.root / "e" / ".hg" / "store" / "file").write_text("it may not know")
    watched.walks_all()


def test_a_project_in_a_directory_that_is_watched(tmp_path: Path, watched: Watched) -> None:
    """Watchman watches the top of the repository, and the names it tells are those below the project."""
    outer = tmp_path / "outer"
    shutil.copytree(watched.root, outer / "in" / "project")
    subprocess.run(["git", "init", "-q", str(outer)], check=True)
    watched.server.command("watch", str(outer))
    watched.root = outer / "in" / "project"
    watched.cache.forget_all()
    watched.begins_anew()
    (outer / "beside").write_text("x")
    assert watched.sees() == []
    (watched.root / "a" / "file").write_text("x")
    assert watched.sees() == ["", "a"]


# the check

def write_behind(watched: Watched) -> None:
    """Through a name outside the project: the kernel tells it to those who watch that one."""
    path = watched.root / "a" / "d" / "file"
    outside = watched.root.parent / "outside"
    os.link(path, outside)
    outside.write_text("unheard")


def test_a_check_finds_what_watchman_missed(watched: Watched) -> None:
    write_behind(watched)
    found = watched.look(check=True)
    assert watched.monitor.missed == [b"a/d/file"]
    assert found.root == watched.whole()
    watched.walks_all()


def test_a_time_that_changed_is_nothing_missed(watched: Watched) -> None:
    os.link(watched.root / "a" / "d" / "file", watched.root.parent / "outside")
    watched.look(check=True)
    assert watched.monitor.missed == []
    assert watched.sees() == []


def test_what_was_told_is_nothing_missed(watched: Watched) -> None:
    for change in CHANGES.values():
        change_anyway(change, watched.root)
        found = watched.look(check=True)
        assert (watched.monitor.missed, watched.monitor.why) == ([], "it is time to check")
        assert found.root == watched.whole()


def change_anyway(change: Callable[[Path], object], root: Path) -> None:
    try:
        change(root)
    except OSError:
        pass  # an earlier change left nothing to do it to


def test_what_changes_during_a_check_is_nothing_missed(watched: Watched,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Monitor._walk_some

    def walk_and_change(monitor: Monitor, *args: Any) -> Any:
        found = plain(monitor, *args)
        (watched.root / "e" / "f" / "file").write_text("after the question, before the walk")
        return found

    monkeypatch.setattr(Monitor, "_walk_some", walk_and_change)
    found = watched.look(check=True)
    assert (watched.monitor.missed, watched.monitor.why) == ([], "it is time to check")
    assert found.root == watched.whole()


def test_every_so_often_there_is_a_check(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "SCANS", 3)
    watched.sees()
    watched.sees()
    assert watched.walks_all() == "it is time to check"
    watched.sees()
    monkeypatch.setattr(monitoring, "SECONDS", -1.0)
    assert watched.walks_all() == "it is time to check"
