"""Makes random changes while a real Watchman is restarted, killed and stopped. Whatever Watchman reports,
every checkpoint must hold exactly what a walk of the whole tree finds."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

from watchman_server import WatchmanServer

ROUNDS = 250  # after these, a new project is made
AGED = 2.1  # seconds; older files are not read again


class Mismatch(Exception):
    pass


class Tree:
    """A project, and the changes that people and programs make in it."""

    def __init__(self, root: str, dice: random.Random) -> None:
        self.root = root
        self.dice = dice
        self.number = 0
        self.git("init", "-q")
        for folder in range(60):
            path = os.path.join(root, f"top{folder % 6}", f"dir{folder}", "in")
            os.makedirs(path)
            for file in range(8):
                self._write(os.path.join(path, f"file{file}.txt"))
            self._write(os.path.join(os.path.dirname(path), "beside.txt"))
        self._ignore_file(os.path.join(root, ".gitignore"), "*.log\nbuild/\nlarge/\n")
        for name, files in (("build", 20), ("large", 600), ("node_modules", 30)):
            os.makedirs(os.path.join(root, name, "deep"))
            for file in range(files):
                self._write(os.path.join(root, name, "deep", f"{file}.o"))
        self._nested()
        self.git("add", "-A", ".", ":!nested", ":!linked")
        self.git("commit", "-q", "-m", "one")
        self.git("branch", "other")
        for _ in range(40):
            self.write()
        self.git("add", "-A", ".", ":!nested", ":!linked")
        self.git("commit", "-q", "-m", "two")

    def _nested(self) -> None:
        nested = os.path.join(self.root, "nested")
        subprocess.run(["git", "init", "-q", nested], check=True)
        apart = self.root + "-linked.git"
        linked = os.path.join(self.root, "linked")
        subprocess.run(["git", "init", "-q", f"--separate-git-dir={apart}", linked], check=True)
        self.excludes = [os.path.join(folder, "info", "exclude")
                         for folder in (os.path.join(nested, ".git"), apart, os.path.join(self.root, ".git"))]
        for name in ("nested", "linked"):
            os.makedirs(os.path.join(self.root, name, "sub"))
            for file in range(5):
                self._write(os.path.join(self.root, name, "sub", f"n{file}.tmp"))

    def git(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _write(self, path: str, size: int = 0) -> None:
        self.number += 1
        with open(path, "w") as file:
            file.write(f"{self.number}\n" * (size or self.dice.randrange(1, 5)))

    def _ignore_file(self, path: str, text: str) -> None:
        with open(path, "w") as file:
            file.write(text)

    # random places

    def folders(self) -> list[str]:
        found = []
        for folder, names, _ in os.walk(self.root):
            names[:] = [name for name in names if name != ".git"]
            found.append(folder)
        return found

    def folder(self) -> str:
        return self.dice.choice(self.folders())

    def file(self) -> str:
        for _ in range(50):
            folder = self.folder()
            files = [entry.path for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
            if files and folder != self.root:
                return self.dice.choice(sorted(files))
        return os.path.join(self.root, ".gitignore")

    def new_name(self) -> str:
        self.number += 1
        odd = self.dice.random()
        name = f"new{self.number}"
        return name + os.fsdecode(b"\xff\xfe") if odd < 0.05 else name + " \n\"é" if odd < 0.1 else name

    def movable(self) -> str:
        """A directory below the first level."""
        deep = [folder for folder in self.folders() if os.path.relpath(folder, self.root).count("/") >= 1]
        return self.dice.choice(deep) if deep else self.folder()

    # random changes

    def write(self) -> None:
        self._write(self.file())

    def write_unseen(self) -> None:
        """Change a file, but neither its size nor its time."""
        path = self.file()
        info = os.stat(path)
        with open(path, "r+b") as file:
            file.write(str(self.dice.random()).encode()[:info.st_size])
            file.truncate(info.st_size)
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))

    def append(self) -> None:
        with open(self.file(), "a") as file:
            file.write("more\n")

    def create(self) -> None:
        self._write(os.path.join(self.folder(), self.new_name()))

    def create_folder(self) -> None:
        path = os.path.join(self.folder(), self.new_name(), "x")
        os.makedirs(path)
        for file in range(self.dice.randrange(4)):
            self._write(os.path.join(path, f"{file}.txt"))

    def delete(self) -> None:
        os.unlink(self.file())

    def delete_folder(self) -> None:
        shutil.rmtree(self.movable())

    def rename(self) -> None:
        os.rename(self.file(), os.path.join(self.folder(), self.new_name()))

    def rename_over(self) -> None:
        """Save as editors do."""
        path = self.file()
        self._write(path + "~")
        os.rename(path + "~", path)

    def rename_folder(self) -> None:
        try:
            os.rename(self.movable(), os.path.join(self.folder(), self.new_name()))
        except OSError:
            pass  # a directory cannot be moved into itself

    def swap_folders(self) -> None:
        one, other = self.movable(), self.movable()
        if os.path.commonpath([one, other]) in (one, other):
            return
        spare = os.path.join(self.root, self.new_name())
        os.rename(one, spare)
        os.rename(other, one)
        os.rename(spare, other)

    def mode(self) -> None:
        os.chmod(self.file(), self.dice.choice((0o644, 0o755, 0o600, 0o640)))

    def folder_mode(self) -> None:
        os.chmod(self.movable(), self.dice.choice((0o755, 0o700, 0o750)))

    def link(self) -> None:
        os.symlink(self.dice.choice(("nowhere", "..", "/etc")), os.path.join(self.folder(), self.new_name()))

    def folder_to_link(self) -> None:
        path = self.movable()
        aside = os.path.join(self.root, self.new_name())
        os.rename(path, aside)
        os.symlink(aside, path)

    def folder_to_file(self) -> None:
        path = self.movable()
        shutil.rmtree(path)
        self._write(path)

    def file_to_folder(self) -> None:
        path = self.file()
        os.unlink(path)
        os.mkdir(path)
        self._write(os.path.join(path, "in-it"))

    def ignore(self) -> None:
        name = self.dice.choice((".gitignore", ".rewindignore"))
        text = self.dice.choice(("*.txt\n", "in/\n", "file1*\n!file12*\n", "", "new*\n", "x/\n"))
        self._ignore_file(os.path.join(self.folder(), name), text)

    def unignore(self) -> None:
        found = [os.path.join(folder, name) for folder in self.folders()
                 for name in (".gitignore", ".rewindignore") if os.path.isfile(os.path.join(folder, name))]
        if found:
            os.unlink(self.dice.choice(sorted(found)))

    def exclude(self) -> None:
        path = self.dice.choice(self.excludes)
        if os.path.isdir(os.path.dirname(path)):
            self._ignore_file(path, self.dice.choice(("", "*.tmp\n", "n1*\nfile3*\n")))

    def grow(self) -> None:
        """Add files to an ignored directory, which may then exceed the limit of what is captured."""
        folder = os.path.join(self.root, self.dice.choice(("build", "large")), "deep")
        if not os.path.isdir(folder):
            return
        for file in range(600):
            path = os.path.join(folder, f"grown{file}")
            if not os.path.lexists(path):
                self._write(path)

    def shrink(self) -> None:
        for name in ("build", "large"):
            folder = os.path.join(self.root, name, "deep")
            for entry in os.listdir(folder)[10:] if os.path.isdir(folder) else ():
                path = os.path.join(folder, entry)
                if not os.path.isdir(path):
                    os.unlink(path)

    def checkout(self) -> None:
        self.git("checkout", "-q", "-f", self.dice.choice(("other", "master", "main")))

    def stash(self) -> None:
        self.git("stash", "-q")
        if self.dice.random() < 0.7:
            self.git("stash", "pop", "-q")

    def commit(self) -> None:
        self.git("add", "-A", "top0", "top1")
        self.git("commit", "-q", "-m", "more")

    def nothing(self) -> None:
        pass

    def many(self) -> None:
        folder = os.path.join(self.folder(), self.new_name())
        for number in range(30):
            os.makedirs(os.path.join(folder, str(number)))
            self._write(os.path.join(folder, str(number), "f"))

    def act(self) -> str:
        what = self.dice.choice(ACTIONS)
        try:
            what(self)
        except FileNotFoundError:
            pass  # a path through a broken link
        return what.__name__


ACTIONS: list[Callable[[Tree], None]] = [
    Tree.write, Tree.write, Tree.write, Tree.write_unseen, Tree.write_unseen, Tree.append, Tree.create,
    Tree.create, Tree.create_folder, Tree.delete, Tree.delete_folder, Tree.rename, Tree.rename,
    Tree.rename_over, Tree.rename_folder, Tree.rename_folder, Tree.swap_folders, Tree.mode, Tree.folder_mode,
    Tree.link, Tree.folder_to_link, Tree.folder_to_file, Tree.file_to_folder, Tree.ignore, Tree.unignore,
    Tree.exclude, Tree.grow, Tree.shrink, Tree.checkout, Tree.stash, Tree.commit, Tree.nothing, Tree.many]


def disturb(server: WatchmanServer, dice: random.Random, root: str) -> str:
    """Do something to Watchman itself."""
    what = dice.choice(("killed", "stopped", "restarted", "forgotten", "recrawled", "unwatched", "asleep"))
    if what == "recrawled":
        server.command("debug-recrawl", root)
    elif what == "unwatched":
        server.command("watch-del", root)
    elif what == "asleep":
        server.send(signal.SIGSTOP)
    else:
        server.stop(signal.SIGKILL if what == "killed" else signal.SIGTERM)
    return what


def recover(server: WatchmanServer, what: str) -> None:
    """Bring Watchman back after `disturb`."""
    if what == "asleep":
        server.send(signal.SIGCONT)
    elif what in ("killed", "stopped", "restarted", "forgotten"):
        server.start(forget=what == "forgotten")


class Soak:
    def __init__(self, top: Path, seed: int) -> None:
        from rewind.checkpoint.save import capture

        self.dice = random.Random(seed)
        self.top = top
        self.counts: Counter[str] = Counter()
        self.why: Counter[str] = Counter()
        self.last: Any = None
        self._note_monitors()
        # Ask Watchman in a small project as well. The setting `watchman` would do that, but would start a
        # server.
        capture.LARGE = 0

    def _note_monitors(self) -> None:
        """Note the monitor of each scan, which knows whether the scan was a whole walk, and why."""
        from rewind.snapshot.watchman.monitor import Monitor

        plain = Monitor.finish

        def finish(monitor: Any, *args: Any) -> None:
            plain(monitor, *args)
            self.last = monitor

        Monitor.finish = finish  # type: ignore[method-assign]

    def run(self, until: float) -> None:
        server = WatchmanServer(self.top / "watchman")
        os.environ["WATCHMAN_SOCK"] = server.socket
        server.start()
        try:
            while time.monotonic() < until:
                self._project(server, until)
        finally:
            server.stop()

    def _project(self, server: WatchmanServer, until: float) -> None:
        from rewind.controller import Controller

        root = tempfile.mkdtemp(prefix="project-", dir=self.top)
        tree = Tree(root, self.dice)
        controller, _ = Controller.init(root)
        try:
            for number in range(ROUNDS):
                if time.monotonic() > until:
                    break
                self._round(controller, tree, server, number)
        finally:
            controller.close()
        server.command("watch-del", root)
        shutil.rmtree(root)
        shutil.rmtree(root + "-linked.git")

    def _round(self, controller: Any, tree: Tree, server: WatchmanServer, number: int) -> None:
        dice = self.dice
        disturbed = disturb(server, dice, tree.root) if dice.random() < 0.08 else ""
        early = dice.random() < 0.5
        if early:
            recover(server, disturbed)
        done = [tree.act() for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 8)))]
        if dice.random() < 0.1:
            self._save_while_changing(controller, tree)
        if dice.random() < 0.15:
            time.sleep(AGED)
        self._compare(controller, tree, f"round {number}, Watchman {disturbed or 'well'}: {', '.join(done)}")
        if not early:
            recover(server, disturbed)
        if disturbed:
            self.counts[f"Watchman {disturbed}"] += 1
        if dice.random() < 0.03:
            self._go_back(controller)

    def _save_while_changing(self, controller: Any, tree: Tree) -> None:
        """The next scan must see what changes during this one."""
        child = os.fork()
        if not child:
            for _ in range(20):
                try:
                    tree.act()
                except Exception:
                    continue
            os._exit(0)
        try:
            controller.save("meanwhile", if_changed=True)
        finally:
            os.waitpid(child, 0)
        self.counts["saved while files changed"] += 1
        tree.number += 1000

    def _go_back(self, controller: Any) -> None:
        from rewind.checkpoint.rewind.target import AtCheckpoint
        from rewind.errors import RewindError

        names = [record.name for record in controller.state.timeline.all()]
        try:
            controller.go(AtCheckpoint(self.dice.choice(names)), "code", force=True)
            self.counts["restored"] += 1
        except RewindError as error:
            self.counts[f"restore refused: {type(error).__name__}"] += 1

    def _compare(self, controller: Any, tree: Tree, what: str) -> None:
        from rewind.checkpoint.save.watching import off_path
        from rewind.snapshot.scan.cache import ScanCache
        from rewind.snapshot.scan.scan import scan

        state, self.last = controller.state, None
        saved = controller.save("soak", if_changed=True)
        whole = scan(state.root, state.rules(), ScanCache(None), None, keep=False)
        partly = self.last is not None and not self.last.why
        self.counts["checkpoints compared"] += 1
        self.counts["asked Watchman alone" if partly else "whole walks"] += 1
        self.counts["asked Watchman alone, and something had changed"] += partly and saved.created
        if not partly:
            self.why[self.last.why if self.last else "no Watchman"] += 1
        if saved.record.tree != whole.root:
            raise Mismatch(f"{what}\n{_differences(state, saved, whole)}\n{tree.root}")
        if os.path.lexists(off_path(state)):
            raise Mismatch(f"{what}\nturned off: {Path(off_path(state)).read_text()}\n{tree.root}")


def _differences(state: Any, saved: Any, whole: Any) -> str:
    from rewind.snapshot.trees.change import Paths, differences
    from rewind.snapshot.trees.tree import Tree as Stored

    def stored(oid: bytes) -> Any:
        return Stored.decode(state.objects.get(oid))

    found = differences(saved.record.tree, stored, whole.root, whole.tree, Paths(None))
    return "\n".join(f"{path!r}: {one} {other}" for path, one, other in list(found)[:20])


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak-watchman", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    wanted = parser.parse_args(args)
    top = Path(tempfile.mkdtemp(prefix="rewind-soak-"))
    home = top / "home"
    (home / ".rewind").mkdir(parents=True)
    os.environ.update(HOME=str(home), REWIND_HOME=str(home / ".rewind"), GIT_CONFIG_GLOBAL=os.devnull,
                      GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@example.com", GIT_COMMITTER_NAME="A",
                      GIT_COMMITTER_EMAIL="a@example.com")
    soak = Soak(top, wanted.seed)
    print(f"seed {wanted.seed}, {wanted.minutes:g} minutes", flush=True)
    try:
        soak.run(time.monotonic() + wanted.minutes * 60)
    except Mismatch as error:
        print(f"DIFFERENT after {soak.counts['checkpoints compared']} checkpoints: {error}")
        return 1
    finally:
        reasons = (("  " + why, count) for why, count in soak.why.most_common())
        for name, count in (*sorted(soak.counts.items()), *reasons):
            print(f"{count:8,}  {name}")
    shutil.rmtree(top, ignore_errors=True)
    if not soak.counts["asked Watchman alone, and something had changed"]:
        print("Watchman was never asked alone, so this says nothing.")
        return 1
    print("Every checkpoint was what a whole walk found.")
    return 0
