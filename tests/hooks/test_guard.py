"""The guard: what it blocks, what it lets pass, and that nothing upsets it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from other_pythons import WHICH, examples
from rewind.cli.parse.commands import COMMANDS as COMMANDS_OF_REWIND
from rewind.hooks import guard as sentences
from rewind.hooks.guard import Guard

# In the tables @ROOT stands for the project, @HOME for the person's home.
LAYOUT = (
    "work/project/.agent/rewind/checkpoints/", "work/project/.agent/rewind/store.json",
    "work/project/.agent/notes.md", "work/project/src/deep/", "work/project/build/", "work/project/README.md",
    "work/project/packages/app/.agent/rewind/store.json", "work/project/packages/lib/.agent/rules.md",
    "work/project/.rewindignore", "work/other/.agent/rewind/store.json", "work/other/data/",
    "home/.rewind/system/", "home/.rewind/storage/", "home/.rewind/agents/", "home/.rewind/config.json",
    "home/.rewind/known-stores.json", "home/.bashrc",
)
LINKS = (
    ("work/project/link", ".agent"), ("work/project/deeplink", ".agent/rewind/store.json"),
    ("work/alias", "project"), ("work/project/out", "../other/data"), ("work/project/round", "round"),
    ("work/project/ignorelink", ".rewindignore"),
)


class Scene:
    def __init__(self, top: Path) -> None:
        for name in LAYOUT:
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("/"):
                path.mkdir(parents=True)
            else:
                path.write_text("{}")
        for name, target in LINKS:
            (top / name).symlink_to(target)
        self.root = top / "work" / "project"
        self.home = top / "home"
        self.guard = Guard(str(self.root), str(self.root / ".agent" / "rewind"), str(self.home / ".rewind"))

    def text(self, text: str) -> str:
        return text.replace("@ROOT", str(self.root)).replace("@HOME", str(self.home))

    def command(self, text: str, cwd: str = "") -> str:
        return self.guard.command(self.text(text), str(self.root / cwd))

    def file(self, path: str, cwd: str = "") -> str:
        return self.guard.file(self.text(path), str(self.root / cwd))


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("guard").resolve())


@pytest.fixture
def scene(top: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("HOME", str(top.home))
    return top


BLOCKED_FILES = {
    "a record": "@ROOT/.agent/rewind/store.json",
    "a new file in the state": "@ROOT/.agent/rewind/new/file.txt",
    "the state itself": "@ROOT/.agent/rewind",
    "a relative path": ".agent/rewind/config.json",
    "dots in between": "src/../.agent/./rewind/config.json",
    "through a linked directory": "link/rewind/config.json",
    "through a linked file": "deeplink",
    "through a link to the project": "@ROOT/../alias/.agent/rewind/store.json",
    "a nested project's state": "packages/app/.agent/rewind/store.json",
    "a nested state that is not there yet": "src/.agent/rewind/store.json",
    "the user's settings": "@HOME/.rewind/config.json",
    "the list of known stores": "@HOME/.rewind/known-stores.json",
    "the installed program": "@HOME/.rewind/system/smart-checkpoint",
    "another project's global storage": "@HOME/.rewind/storage/abc/objects.db",
    ".rewindignore": "@ROOT/.rewindignore",
    "a .rewindignore further down": "src/.rewindignore",
    "a link to .rewindignore": "ignorelink",
}
PASSING_FILES = {
    "a source file": "@ROOT/src/main.py",
    "a relative source file": "src/main.py",
    "a new file": "brand/new/file.py",
    "another tool's file in .agent": ".agent/notes.md",
    "a name that only looks alike": ".agent/rewind-notes.md",
    "a sibling of .agent": ".agentrc",
    "a source directory called rewind": "src/rewind/guard.py",
    "a source file called rewind": "rewind",
    "the user's agent profiles": "@HOME/.rewind/agents/mine.json",
    "a file in home": "@HOME/.bashrc",
    "a .rewindignore outside the project": "@ROOT/../other/.rewindignore",
    "another file with ignore in its name": ".gitignore",
    "out through a link": "out/file.txt",
    "a link that goes round": "round/x",
    "nothing": "",
    "a name with a NUL": "src/\0.agent",
    "a name that is no Unicode": "src/\ud800",
    "wildcards are just characters in a file's name": ".a*/rewind/store.json",
}

BLOCKED = {
    # Rewind's own commands
    "restore": "rewind restore last",
    "jump": "rewind jump 2",
    "back": "rewind back",
    "back with options": "rewind back 2 --both --in-place",
    "undo": "rewind undo",
    "redo": "rewind redo",
    "undo-restore": "rewind undo-restore",
    "revert": "rewind revert t2 -- src",
    "apply": "rewind apply --from 3f2a9c11",
    "bisect --in-place": "rewind bisect run --in-place -- make",
    "commit": "rewind commit --per-turn",
    "rewrite-chat": "rewind rewrite-chat last",
    "gc": "rewind gc --keep 1",
    "forks delete": "rewind forks delete 3f2a9c11",
    "config --set": "rewind config --set protect=false",
    "config --tier": "rewind config --tier minimal --global",
    "config --unset": "rewind config --json --unset tier",
    "config --register-hooks": "rewind config --register-hooks",
    "config --unregister-hooks": "rewind config --unregister-hooks",
    "uninstall": "rewind uninstall",
    "behind -C": "rewind -C @ROOT restore last",
    "behind --project": "rewind --project . back",
    "behind --project=": "rewind --project=. --json back",
    "help is a path here": "rewind restore last -- --help",
    "by path": "~/.local/bin/rewind back",
    "by the installed path": "@HOME/.rewind/system/bin-rewind undo",
    "from a checkout": "./bin/rewind back 1",
    "by Python": "python bin/rewind back 1",
    "as a module": "python -m rewind restore last",
    "as a module of a certain Python": "/usr/bin/python3.11 -I -m rewind back",
    "uvx": "uvx agentrewind back",
    "uvx with a version": "uvx agentrewind@latest back",
    "uvx --from": "uvx --from agentrewind rewind back",
    "uv tool run": "uv tool run agentrewind back",
    "uv run": "uv run rewind back",
    "pipx run": "pipx run agentrewind undo",
    # seen through
    "after cd": "cd src && rewind back",
    "after a semicolon": "echo hi; rewind back",
    "on the next line": "echo hi\nrewind back",
    "after or": "false || rewind back",
    "in the background": "sleep 1 & rewind back",
    "in a pipe": "yes | rewind rewrite-chat last",
    "in a subshell": "(cd src; rewind back)",
    "in a group": "{ rewind back; }",
    "in a condition": "if rewind back; then echo ok; fi",
    "in a loop": "for i in 1 2; do rewind undo; done",
    "negated": "! rewind undo",
    "in a case": "case $x in a) rewind undo;; esac",
    "in a function": "f() { rewind undo; }; f",
    "in a substitution": 'echo "$(rewind back)"',
    "in a substitution in a substitution": "x=$(echo $(rewind back))",
    "in backticks": "echo `rewind back`",
    "in a process substitution": "cat <(rewind back)",
    "quoted name": "'rewind' \"back\"",
    "half quoted": 're"wind" ba\'ck\'',
    "escaped": "\\rewind back",
    "in dollar quotes": "rewind $'back'",
    "continued on the next line": "rewind \\\n  back",
    "sh -c": "sh -c 'rewind back'",
    "bash -lc": 'bash -lc "cd src && rewind back"',
    "bash with options": "bash -euo pipefail -c 'rewind back'",
    "sh -c in sh -c": "sh -c \"sh -c 'rewind back'\"",
    "eval": 'eval "rewind back"',
    "trap": "trap 'rewind back' EXIT",
    "env": "env A=b rewind back",
    "leading assignment": "REWIND_DEBUG=1 rewind back",
    "sudo": "sudo -u me rewind back",
    "nohup": "nohup rewind back &",
    "time": "time rewind back",
    "nice": "nice -n 10 rewind back",
    "timeout": "timeout -k 1 5 rewind back",
    "command": "command rewind back",
    "exec": "exec rewind back",
    "xargs": "echo 2 | xargs rewind back",
    "several wrappers": "sudo env A=b timeout 5 nice rewind back",
    "a here-document for a shell": "sh <<EOF\nrewind back\nEOF",
    "a here-document with tabs": "bash -s <<-'EOF'\n\trewind back\n\tEOF\n",
    "a here-string for a shell": "bash <<< 'rewind back'",
    "echo into a shell": "echo 'rewind back' | sh",
    "cat into a shell": "cat <<EOF | bash\nrewind back\nEOF",
    "after a here-document": "cat <<EOF\ntext\nEOF\nrewind back",
    "after a comment": "# look\nrewind back",
    "after arithmetic": "echo $((1<<2))\nrewind back",
    # removing and moving
    "rm of the state": "rm -rf .agent/rewind",
    "rm of its parent": "rm -rf .agent",
    "rm with a slash": "rm -rf .agent/",
    "rm with --": "rm -rf -- .agent",
    "rm by path": "/bin/rm -r .agent",
    "rm of a record": "rm .agent/rewind/store.json",
    "rm of several": "rm -rf build .agent dist",
    "rm of the project": "rm -rf @ROOT",
    "rm of the current directory": "rm -rf .",
    "rm of everything around": "rm -rf ../../work",
    "rm of the root": "rm -rf /",
    "rm of home": "rm -rf ~",
    "rm of Rewind's home": "rm -rf ~/.rewind",
    "rm by $HOME": 'rm -rf "$HOME/.rewind/storage"',
    "rm by ${HOME}": "rm -rf ${HOME}/.rewind",
    "rm by $PWD": 'rm -rf "$PWD/.agent"',
    "rm by $(pwd)": 'rm -rf "$(pwd)/.agent"',
    "rm by git's top": 'rm -rf "$(git rev-parse --show-toplevel)/.agent"',
    "rm by an unknown directory": 'rm -rf "$SOMEWHERE/.agent/rewind"',
    "rm in an unknown directory": 'cd "$SOMEWHERE" && rm -rf .agent/rewind',
    "rm through dots": "rm -rf src/../.agent",
    "rm after cd up": "cd .. && rm -rf project",
    "rm after cd down": "cd src/deep && rm -rf ../../.agent",
    "rm after cd into it": "cd .agent && rm -rf rewind",
    "rm after cd through a link": "cd link; rm -rf rewind",
    "rm after cd there and back": "cd src && cd - && rm -rf .agent",
    "rm after pushd": "pushd .agent/rewind; rm store.json",
    "rm after a subshell's cd": "(cd src); rm -rf .agent",
    "rm through a link": "rm -rf link/rewind",
    "rm through a link to the project": "rm -rf ../alias/.agent",
    "rm of hidden files": "rm -rf .*",
    "rm of hidden files, carefully": "rm -rf .[!.]*",
    "rm of hidden files with question marks": "rm -rf .??*",
    "rm by a beginning": "rm -rf .a*",
    "rm by a set": "rm -rf .[a-c]gent",
    "rm by braces": "rm -rf ./{,.}*",
    "rm by nested braces": "rm -rf {build,.{agent,cache}}",
    "rm of all that is in .agent": "rm -rf .agent/*",
    "rm of all that is in the state": "rm -rf .agent/rewind/*",
    "rm of all projects": "cd .. && rm -rf *",
    "rm with dotglob": "shopt -s dotglob; rm -rf *",
    "rm of a nested state": "rm -rf packages/app/.agent",
    "rm of a nested project": "rm -rf packages/app",
    "rm in sh -c": "sh -c 'rm -rf .agent'",
    "rm by xargs": "echo x | xargs rm -rf .agent",
    "rm of what echo says": "echo .agent | xargs rm -rf",
    "rmdir": "rmdir .agent/rewind",
    "unlink": "unlink .agent/rewind/store.json",
    "shred": "shred -u .agent/rewind/objects.db",
    "truncate": "truncate -s 0 .agent/rewind/objects.db",
    "rimraf": "npx rimraf .agent",
    "mv of the state": "mv .agent/rewind /tmp/x",
    "mv of its parent": "mv .agent .agent.bak",
    "mv of the project": "cd .. && mv project project2",
    "mv -t": "mv -t /tmp .agent",
    "mv onto a record": "mv x.json .agent/rewind/store.json",
    "mv by braces": "mv .agent{,.bak}",
    # writing
    "redirection": "echo {} > .agent/rewind/config.json",
    "redirection without a command": "> .agent/rewind/objects.db",
    "redirection of errors": "make 2>.agent/rewind/store.json",
    "redirection of everything": "make &> .agent/rewind/store.json",
    "appending": "echo x >> .agent/rewind/pins.json",
    "overwriting for certain": "echo x >| link/rewind/pins.json",
    "redirection in a wrapped command": "bash -c 'echo {} > .agent/rewind/config.json'",
    "redirection into .rewindignore": "echo '*' >> .rewindignore",
    "tee": "echo x | tee -a .agent/rewind/config.json",
    "sudo tee": "echo x | sudo tee ~/.rewind/config.json",
    "cp onto a record": "cp x .agent/rewind/store.json",
    "cp into the state": "cp x .agent/rewind/",
    "ln": "ln -sf /dev/null .agent/rewind/rewind.log",
    "a second name for our place": "ln -s .agent/rewind r && rm -rf r/objects.db",
    "a second name, by its own": "cd /tmp && ln -s @ROOT/.agent/rewind/objects.db",
    "a hard link to what is ours": "ln .agent/rewind/objects.db copy.db",
    "install": "install -m 644 x .agent/rewind/store.json",
    "dd": "dd if=/dev/zero of=.agent/rewind/objects.db",
    "sed -i": "sed -i 's/a/b/' .agent/rewind/config.json",
    "sed -i -e": "sed -e 's/a/b/' -i.bak .agent/rewind/config.json",
    "perl -i": "perl -pi -e 's/a/b/' ~/.rewind/config.json",
    "chmod": "chmod 777 .agent/rewind",
    "chown": "sudo chown -R nobody .agent/rewind",
    "rsync --delete": "rsync -a --delete ../other/ .",
    "rsync onto the state": "rsync -a x .agent/rewind/",
    # find
    "find -delete": "find . -delete",
    "find -delete in it": "find .agent -delete",
    "find -type f -delete": "find . -type f -delete",
    "find by time": "find . -mtime +5 -delete",
    "find by a name that ours have": "find . -name '*.db' -delete",
    "find by its name": "find . -name .agent -exec rm -rf {} +",
    "find by one of several names": "find . \\( -name build -o -name .agent \\) -exec rm -rf {} \\;",
    "find at the top": "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +",
    "find all but git's": "find . -maxdepth 1 ! -name .git -exec rm -rf '{}' \\;",
    "find by path": "find . -path '*/rewind/*' -delete",
    "find -exec sh -c": "find . -type f -exec sh -c 'rm \"$1\"' _ {} \\;",
    "find into xargs": "find . -type f | xargs rm -f",
    "find -print0 into xargs": "find . -type f -print0 | xargs -0 rm",
    "find and edit everything": "find . -type f -exec sed -i 's/a/b/g' {} +",
    "find in Rewind's home": "find ~/.rewind -type f -delete",
    "find training checkpoints": "find . -type d -name checkpoints -exec rm -rf {} +",
    "find checkpoints by a beginning": "find . -type d -name 'checkpoint*' -prune -exec rm -rf {} \\;",
    "find checkpoints by path": "find . -path '*/checkpoints/*' -delete",
    "find checkpoints into xargs": "find . -name 'checkpoint*' | xargs rm -rf",
    "find write-ahead logs": "find . -name '*-wal' -o -name '*-shm' | xargs rm -f",
    "find by date": f"find . -name '{time.strftime('%Y')}*' -exec rm -rf {{}} +",
    "find trash": "find . -type d -name trash -exec rm -rf {} +",
    # git
    "git clean -x": "git clean -x -f -d",
    "git clean -fdx": "git clean -fdx",
    "git clean -xdf": "git clean -xdf",
    "git clean -X": "git clean -fdX",
    "git clean -X asks for .agent with -e": "git clean -fdX -e .agent",
    "git clean with another exclude": "git clean -fdx -e node_modules",
    "git clean with two excludes": "git clean -fdxe .env --exclude=dist",
    "git clean of everything by name": "git clean -fdx .",
    "git clean of .agent": "git clean -fdx -- .agent",
    "git -C clean": "git -C @ROOT clean -fdx",
    "git -c clean": "git -c clean.requireForce=false clean -dx",
    "git clean after cd": "cd src && git -C .. clean -ffdx",
    "git clean after reset": "git reset --hard && git clean -fdx",
    "git stash -a": "git stash -a",
    "git stash --all": "git stash --all",
    "git stash push -a": "git stash push -am wip",
    "git stash save --all": "git stash save --all wip",
}

PASSING = {
    # words that are only mentioned
    "echo": 'echo "rewind back"',
    "echo without quotes": "echo rewind back",
    "echo of a removal": "echo rm -rf .agent",
    "grep": "grep -r 'rm -rf .agent' docs",
    "rg": "rg rewind",
    "rg for a command": "rg 'rewind (restore|back)' src",
    "commit message": 'git commit -m "rewind restore fix"',
    "commit message with a removal": "git commit -m 'stop rm -rf .agent; rewind back'",
    "commit message from a here-document":
        "git commit -m \"$(cat <<'EOF'\nguard: stop `rm -rf .agent` and\nrewind back\nEOF\n)\"",
    "here-document": "cat > notes.txt <<EOF\nrewind back\nrm -rf .agent\nEOF",
    "here-document with a quoted end": "cat <<'END' >> notes\n$(rewind back)\nrm -rf .agent\nEND\necho ok",
    "here-document for Python": "python3 - <<EOF\nprint('rewind back')\nEOF",
    "two here-documents": "cat <<A <<B\nrewind back\nA\nrm -rf .agent\nB\n",
    "comment": "ls # rewind back; rm -rf .agent",
    "comment line": "# rewind back\nls",
    "a quoted semicolon": 'printf "%s" "; rewind back"',
    "an escaped semicolon": "echo a\\; rewind back",
    "a quoted redirection": "echo '> .agent/rewind/config.json'",
    "npm script": "npm run rewind",
    "npm script with a word": "npm run rewind back",
    "make target": "make rewind",
    "a program with a longer name": "./rewind_test restore",
    "a program that begins alike": "rewinder back",
    "which": "which rewind",
    "command -v": "command -v rewind",
    "man": "man rewind",
    "pip install": "pip install agentrewind",
    "pipx install": "pipx install agentrewind",
    "a module of another name": "python -m rewind_tools restore",
    "Python with a word": "python -c 'print(1)' rewind back",
    "a script with a word": "bash build.sh rewind back",
    "sh -c with echo": "sh -c 'echo rewind back'",
    # Rewind's commands that only look, or save
    "alone": "rewind",
    "list": "rewind list",
    "show": "rewind show last",
    "diff": "rewind diff last prev --stat",
    "status": "rewind status --unprotected",
    "sessions": "rewind sessions list",
    "validate": "rewind validate --deep",
    "doctor": "rewind doctor",
    "save": "rewind save 'before restore'",
    "save with a word": "rewind save back",
    "help": "rewind help restore",
    "--help": "rewind --help",
    "--help of a command": "rewind restore --help",
    "-h of a command": "rewind gc -h",
    "config": "rewind config",
    "config of one key": "rewind config storage.maxSizeMb --json",
    "config elsewhere": "rewind -C packages config",
    "forks list": "rewind forks list",
    "a directory called back": "rewind -C back list",
    "list after cd": "cd src && rewind list | head -3",
    # looking at the state
    "cat of the log": "cat .agent/rewind/rewind.log",
    "ls": "ls .agent",
    "ls -la of the state": "ls -la .agent/rewind 2>/dev/null",
    "du": "du -sh .agent/rewind",
    "jq": "jq . .agent/rewind/store.json > store-copy.json",
    "cp out of it": "cp .agent/rewind/rewind.log /tmp/",
    "cp -r out of it": "cp -r .agent/rewind ../backup",
    "reading by redirection": "wc -l < .agent/rewind/rewind.log",
    "a descriptor in the state": "cd .agent/rewind && cat rewind.log 2>&1 | head",
    "sed without -i": "sed -n 1,5p .agent/rewind/rewind.log",
    "find that only lists": "find .agent -name '*.json'",
    "tar": "tar czf /tmp/x.tgz .agent/rewind",
    # removing other things
    "rm of build": "rm -rf build",
    "rm of a name alike": "rm .agentrc",
    "rm of another file in .agent": "rm .agent/notes.md",
    "rm of some files in .agent": "rm -f .agent/*.md",
    "rm of all visible": "rm -rf *",
    "rm of all in build": "rm -rf build/*",
    "rm of compiled files": "rm -rf **/*.pyc",
    "rm of all in all directories": "rm -rf */*",
    "rm of other hidden files": "rm -rf .cache .pytest_cache .[b-z]*",
    "rm of hidden files elsewhere": "rm -rf build/.*",
    "rm of a link to it": "rm link",
    "rm of a directory called rewind": "rm -rf src/rewind",
    "rm in another directory": "cd /tmp && rm -rf .agent",
    "rm in a subshell elsewhere": "(cd ../other && rm -rf data)",
    "rm after cd into build": "cd build && rm -rf ./*",
    "rm of an unknown variable": 'rm -rf "$TMPDIR"',
    "rm in an unknown directory": 'cd "$(mktemp -d)" && rm -rf .',
    "rm -rf of a variable's child": "rm -rf $OUT/build",
    "rm of another .agent that is no project": "rm -rf packages/lib/.agent",
    "rm of Rewind's profiles": "rm ~/.rewind/agents/mine.json",
    "rm over ssh": "ssh host rm -rf .agent",
    "mv": "mv a b",
    "mv into here": "mv src/x.py .",
    "mv into .agent": "mv notes.md .agent/",
    "truncate of another": "truncate -s 0 app.log",
    "mkdir": "mkdir -p .agent/rewind",
    # writing other things
    "redirection": "make > build.log 2>&1",
    "redirection to nothing": "make >/dev/null 2>&1",
    "redirection to a variable": 'echo x > "$LOG"',
    "tee": "make | tee build.log",
    "cp": "cp -r src/. build/",
    "cp into here": "cp ../other/x .",
    "ln": "ln -s ../x y",
    "ln of the directory that we are in": "ln -s ../other/.agent y",
    "npm install": "npm install",
    "chmod": "chmod +x run.sh",
    "chmod -R of the project": "chmod -R u+w .",
    "sed -i": "sed -i 's/rewind/forward/' src/a.py",
    "sed -i about it": "sed -i 's#.agent/rewind#x#' README.md",
    "sed -i with a variable": 'sed -i "s|$X|/.agent/rewind/|" README.md',
    "dd": "dd if=.agent/rewind/objects.db of=/tmp/x",
    "rsync out": "rsync -a --delete ./ ../mirror/",
    "rsync sparing it": "rsync -a --delete --exclude=.agent ../other/ .",
    "rsync as a rehearsal": "rsync -avn --delete ../other/ .",
    "comparison": "[[ a > b ]] && echo $(( 3 > 2 ))",
    # find
    "find compiled files": "find . -name '*.pyc' -delete",
    "find caches": "find . -type d -name __pycache__ -exec rm -rf {} +",
    "find several": "find . \\( -name node_modules -o -name dist \\) -prune -exec rm -rf {} +",
    "find empty directories": "find . -type d -empty -delete",
    "find logs": "find . -name '*.log' -delete",
    "find elsewhere": "find build -type f -delete",
    "find sparing it": "find . -type f -not -path './.agent/*' -delete",
    "find pruning it": "find . -name .agent -prune -o -type f -exec rm {} +",
    "find at the top only": "find . -maxdepth 1 -type f -delete",
    "find and look": "find . -type f -exec grep -l rewind {} +",
    "find and chmod": "find . -type f -exec chmod 644 {} +",
    "find into xargs": "find . -name '*.pyc' -print0 | xargs -0 rm -f",
    "find into xargs grep": "find . -type f | xargs grep rewind",
    # git
    "git status": "git status",
    "git clean -fd": "git clean -fd",
    "git clean with an exclude": "git clean -fdx -e .agent",
    "git clean with a long exclude": "git clean -fdx --exclude=.agent/",
    "git clean with an exclude in one word": "git clean -fdxe .agent",
    "git clean with several": "git clean -xdf -e node_modules -e /.agent",
    "git clean with a path left out": "git clean -fdX -- ':!.agent'",
    "git clean as a rehearsal": "git clean -ndx",
    "git clean --dry-run": "git clean -fdx --dry-run",
    "git clean of build": "git clean -fdx build src/deep",
    "git clean in another repository": "git -C ../other clean -fdx",
    "git clean of a file called x": "git clean -f -- x",
    "git stash": "git stash",
    "git stash -u": "git stash -u",
    "git stash with a message": "git stash push -m '-a' -- src",
    "git stash list": "git stash list",
    "git checkout": "git checkout -- .",
    "git reset": "git reset --hard HEAD~1",
    "git rm": "git rm -r --cached .agent",
    "git worktree remove": "git worktree remove ../feature",
    "git log": "git log --all -- .agent",
    "git grep": "git grep 'rewind back'",
    # a shell's other syntax
    "a loop over files": 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
    "a case": "case $x in a) rm -rf build;; *) echo rewind back;; esac",
    "awk": "awk '{ print $1 > \"out\" }' data",
    # no sense at all
    "an open quote": "echo 'rewind back",
    "an open substitution": "echo $(",
    "only signs": ";;&|()<>{}",
    "nothing": "",
}


def named(table: dict[str, str]) -> list[object]:
    return [pytest.param(value, id=name) for name, value in table.items()]


@pytest.mark.parametrize("path", named(BLOCKED_FILES))
def test_a_file_tool_may_not_write_here(scene: Scene, path: str) -> None:
    assert scene.file(path).startswith("Rewind blocks this: ")


@pytest.mark.parametrize("path", named(PASSING_FILES))
def test_a_file_tool_may_write_here(scene: Scene, path: str) -> None:
    assert scene.file(path) == ""


@pytest.mark.parametrize("command", named(BLOCKED))
def test_a_command_is_blocked(scene: Scene, command: str) -> None:
    assert scene.command(command).startswith("Rewind blocks this: ")


@pytest.mark.parametrize("command", named(PASSING))
def test_a_command_passes(scene: Scene, command: str) -> None:
    assert scene.command(command) == ""


@pytest.mark.parametrize(("command", "sentence"), [
    ("rewind back", sentences.PERSON),
    ("rewind config --set protect=false", sentences.PERSON),
    ("rm -rf .agent", sentences.REMOVING),
    ("echo x > .rewindignore", sentences.IGNORE_FILE),
    ("git clean -fdx", sentences.GIT),
    ("git stash --all", sentences.GIT),
])
def test_the_agent_is_told_what_is_wrong_with_it(scene: Scene, command: str, sentence: str) -> None:
    assert scene.command(command) == sentence


def test_the_agents_directory_counts(scene: Scene) -> None:
    assert scene.command("rm -rf ../.agent", cwd="src")
    assert scene.command("rm -rf .agent", cwd="src") == ""
    assert scene.command("rm store.json", cwd=".agent/rewind")
    assert scene.file("../.agent/rewind/x", cwd="src")


BLOCKED_OUTSIDE = {
    "the state": "rm -rf ~/.rewind/storage/0123abcd", "all states": "rm -rf ~/.rewind/storage/*",
    "Rewind's home": "rm -rf ~/.rewind", "moved": "mv ~/.rewind ~/.rewind.bak", "everything": "rm -rf ~",
    "hidden files": "cd ~ && rm -rf .[a-z]*", "by braces": "rm -rf ~/.{cache,rewind}",
    "moved, with braces": "mv ~/.rewind{,.old}",
    "found by a name": "find ~ -name '*.db' -delete", "found by age": "find ~ -type f -mtime +30 -delete",
    "found, then removed": "find ~ -name 'checkpoint*' | xargs rm -rf",
    "written": "echo x > ~/.rewind/storage/0123abcd/store.json",
    "edited": "sed -i s/a/b/ ~/.rewind/storage/0123abcd/store.json",
    "git clean of the home": "cd ~ && git clean -fdx",
    "truncated": "truncate -s 0 $HOME/.rewind/storage/0123abcd/objects.db", "restore": "rewind restore last",
}
PASSING_OUTSIDE = {
    "the project": "rm -rf @ROOT", "from above": "cd .. && rm -rf project",
    "moved": "cd .. && mv project elsewhere", ".agent": "rm -rf .agent", "hidden files": "rm -rf .[!.]*",
    "git clean": "git clean -fdx", "-X": "git clean -fdX", "git clean of all": "git clean -ffdx .",
    "git stash": "git stash --all", "find": "find . -type f -delete",
    "find by name": "find . -name checkpoints -exec rm -rf {} +",
    "sed": "grep -rl a . | xargs sed -i s/a/b/g",
    "a cache in the home": "rm -rf ~/.cache/pip", "found in the home": "find ~ -name '*.pyc' -delete",
    "looking": "ls ~/.rewind/storage && du -sh ~/.rewind",
}


def outside(top: Path) -> Scene:
    """A scene whose project keeps its state in Rewind's home, as by default."""
    scene = Scene(top.resolve())
    for name in ("store.json", "checkpoints", ""):
        path = scene.root / ".agent" / "rewind" / name
        path.rmdir() if path.is_dir() else path.unlink()
    state = scene.home / ".rewind" / "storage" / "0123abcd"
    state.mkdir()
    scene.guard = Guard(str(scene.root), str(state), str(scene.home / ".rewind"))
    return scene


def test_a_state_in_the_home_is_guarded_there_and_not_in_the_project(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = outside(tmp_path)
    monkeypatch.setenv("HOME", str(scene.home))
    assert scene.file("@HOME/.rewind/storage/0123abcd/objects.db")
    assert [name for name, command in BLOCKED_OUTSIDE.items() if not scene.command(command)] == []
    assert [name for name, command in PASSING_OUTSIDE.items() if scene.command(command)] == []


def test_a_place_in_rewinds_home_is_a_place_to_work_in(tmp_path: Path) -> None:
    home = tmp_path.resolve() / ".rewind"
    root = home / "forks" / "two"
    (root / "src").mkdir(parents=True)
    guard = Guard(str(root), str(home / "storage" / "0123abcd"), str(home))
    assert guard.file("src/a.py", str(root)) == "" and guard.command("rm -rf src", str(root)) == ""
    assert guard.file(str(home / "storage" / "0123abcd" / "x"), str(root))


@pytest.mark.parametrize("command", sorted(COMMANDS_OF_REWIND))
def test_an_agent_may_run_what_looks_and_save_and_nothing_else(scene: Scene, command: str) -> None:
    looks = {"save", "list", "show", "diff", "log", "cat", "grep", "blame", "status", "sessions", "ops",
             "projects", "doctor", "watch", "completion", "config", "validate", "forks", "version"}
    assert bool(scene.command(f"rewind {command}")) == (command not in looks)


def test_a_state_behind_a_link_is_guarded_at_both_ends(tmp_path: Path) -> None:
    scene = Scene(tmp_path.resolve())
    (scene.root / ".agent").rename(tmp_path / "big-disk")
    (scene.root / ".agent").symlink_to(tmp_path / "big-disk")
    scene.guard = Guard(str(scene.root), str(scene.root / ".agent" / "rewind"), str(scene.home / ".rewind"))
    assert scene.command("rm .agent")
    assert scene.command(f"rm -rf {tmp_path}/big-disk")
    assert scene.command("rm -rf .agent/rewind")
    assert scene.file(".agent/rewind/store.json")


def test_a_project_reached_through_a_link_is_the_same_project(scene: Scene) -> None:
    alias = scene.root.parent / "alias"
    guard = Guard(str(alias), str(alias / ".agent" / "rewind"), str(scene.home / ".rewind"))
    for root in (alias, scene.root):
        assert guard.command("rm -rf .agent", str(root))
        assert guard.file(str(root / ".agent/rewind/x"), str(root))


@pytest.mark.parametrize("pattern", [".agent", "/.agent", ".agent/", ".agent/rewind"])
def test_git_really_spares_what_the_guard_takes_for_an_exclude(
        scene: Scene, tmp_path: Path, pattern: str) -> None:
    assert scene.command(f"git clean -fdx -e {pattern}") == ""
    assert _cleaned(tmp_path, "-dx", "-e", pattern) is False


def test_git_really_removes_what_the_guard_blocks(tmp_path: Path) -> None:
    assert _cleaned(tmp_path, "-dx")
    assert _cleaned(tmp_path, "-dX", "-e", ".agent")
    assert not _cleaned(tmp_path, "-dX", "--", ":!.agent")


def _cleaned(folder: Path, *options: str) -> bool:
    """Whether `git clean` would take the state away."""
    environment = {**os.environ, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    state = folder / ".agent" / "rewind"
    if not state.exists():
        subprocess.run(["git", "init", "-q", folder], check=True, env=environment)
        state.mkdir(parents=True)
        (state / ".gitignore").write_text("*")
        (state / "objects.db").write_text("")
    done = subprocess.run(["git", "clean", "-n", *options], cwd=folder, env=environment, check=True,
                          capture_output=True, text=True)
    return ".agent" in done.stdout


PIECES = [
    "rm -rf ", "rewind ", "back", ".agent", "/rewind", " ", "\n", ";", "&&", "|", "(", ")", "$(", "`", "'",
    '"', "\\", "${", "}", "{", ",", "*", "[", "]", "?", "**", "..", "/", "~", "$HOME", "<<EOF", "EOF", "<<<",
    ">", "&>", "sh -c ", "eval ", "xargs ", "find . ", "-exec ", "-delete", "\\;", "!", "-o ", "-name ",
    "-prune", "git clean -xe ", "git stash -a", "cd ", "mv ", "cp -t ", "rsync --delete ", "$'", "\\x",
    "$((", "))", "#", "--", "-", "=", "\0", "\ud800", "é", "env A=b ", "timeout ", "python -m ", "sed -i ",
    "chmod -R ", "popd", "trap ", "of=", "\\(", "\\)", "{} +",
]
COMMANDS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
                max_examples=examples(1500))


@pytest.mark.slow
@CALM
@given(command=COMMANDS, cwd=st.sampled_from(["", "src", ".agent/rewind", "/", "\0", "round"]))
@example(command="rm \\", cwd="")
@example(command="rm ${", cwd="")
@example(command="find . \\) -delete", cwd="")
@example(command="HOME=$X; cd; rm -rf ~", cwd="")
def test_no_command_upsets_the_guard(scene: Scene, command: str, cwd: str) -> None:
    assert isinstance(scene.command(command, cwd), str)


@pytest.mark.slow
@CALM
@given(path=st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=20).map("".join)), cwd=st.text())
def test_no_path_upsets_the_guard(scene: Scene, path: str, cwd: str) -> None:
    assert isinstance(scene.guard.file(path, cwd), str)


HUGE = 200_000 if WHICH else 1_000_000  # on the default Python, what the name of the test says


@pytest.mark.slow
@pytest.mark.parametrize("piece", [
    "rm ", "rm a;", "rm a/b ", "a/", "../", "*", "*a ", "[", "{a,b}", "{", "$(", "${", "((", "(", ")", "`",
    "\\", "'", '"', '"$(', "<<A ", "<<A\n", "rm *a*b?[c] ", "$((", "env ", "A=1 ", "then ", "-x ",
    "cd a/b/c;", "pushd x;", "eval ", "sh -c '", "find . -name a -delete\n", "-exec rm {} + ", "\\( ", "! ",
    "echo a|sh|", "git clean -xe a;", "rm **/**/a ", "x|xargs rm|", "$'\\", "~/", "> ", ">a ", "#\n",
    "cp a b ", "`a`",
], ids=repr)
def test_a_megabyte_of_anything_is_looked_at_in_linear_time(scene: Scene, piece: str) -> None:
    """No time is measured: what is not linear here does not end before the test run is given up."""
    for start in ("rm -rf ", "find . "):
        scene.command(start + piece * (HUGE // len(piece)))
    scene.file(piece * (HUGE // len(piece)))


def test_a_command_that_cannot_matter_costs_no_import() -> None:
    code = ("import os, sys, time, __future__; before = set(sys.modules)\n"
            "from rewind.hooks.guard import Guard\n"
            "guard = Guard('/p', '/p/.agent/rewind', '/h')\n"
            "assert guard.command('pytest -q && ls', '/') == ''\n"
            "assert guard.command('rm -rf .agent', '/p')\n"
            "loaded = set(sys.modules) - before\n"
            "assert loaded == {'rewind', 'rewind.hooks', 'rewind.hooks.guard'}, loaded\n")
    source = str(Path(__file__).parents[2] / "src")
    subprocess.run([sys.executable, "-S", "-c", code], check=True, env={**os.environ, "PYTHONPATH": source})
