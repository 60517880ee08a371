"""The two kinds of installation, in any version: by install.sh, and by `claude plugin install`. Also a
foreign plugin, module and hook that must keep working."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claude_client import Claude
from screen import wait_until
from scripted import prompt

from rewind_cli import CHECKOUT, Rewind, clean_env

FOREIGN_MODULE = """import type { Register } from 'claude-code'
export const register: Register = on => {
  on('session.start', async ($, e, next) => {
    const started = await next(e)
    await $.command.register({ name: 'foreign', description: 'Somebody else' })
    return started
  })
  on('command.run', { command: 'foreign' }, async () => ({ text: 'foreign answers' }))
}
"""


def claude_command(claude: Claude, *args: str) -> str:
    done = subprocess.run([str(claude.program), *args], cwd=claude.project, env=claude.env, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def install_plugin(claude: Claude, checkout: Path = CHECKOUT) -> None:
    claude_command(claude, "plugin", "marketplace", "add", str(checkout))
    claude_command(claude, "plugin", "install", "rewind@rewind")


def update_plugin(claude: Claude) -> None:
    claude_command(claude, "plugin", "marketplace", "update", "rewind")
    claude_command(claude, "plugin", "update", "rewind@rewind")


def remove_plugin(claude: Claude) -> None:
    claude_command(claude, "plugin", "uninstall", "rewind@rewind")
    claude_command(claude, "plugin", "marketplace", "remove", "rewind")


def install_sh(claude: Claude, checkout: Path, *options: str) -> None:
    done = subprocess.run(["sh", str(checkout / "install.sh"), *options], cwd=claude.project, text=True,
                          env=clean_env(claude.home), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120)
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr, done


def checkout_of(folder: Path, version: str) -> Path:
    """Make a checkout of another version. Links stay links, as in a clone."""
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("src", "bin", "plugin", ".claude-plugin"):
        shutil.copytree(CHECKOUT / name, folder / name, symlinks=True, ignore=skip)
    shutil.copy(CHECKOUT / "install.sh", folder / "install.sh")
    set_version(folder, version)
    return folder


def set_version(checkout: Path, version: str) -> None:
    was = json.loads((checkout / "plugin" / ".claude-plugin" / "plugin.json").read_text())["version"]
    for name in ("src/rewind/__init__.py", "plugin/.claude-plugin/plugin.json", "plugin/hooks/program.ts"):
        text = (checkout / name).read_text()
        assert was in text, name
        (checkout / name).write_text(text.replace(was, version))


def add_foreign(claude: Claude, market: Path) -> None:
    """Add the foreign hook, plugin and module. Then add and remove Rewind's plugin once, because the client
    reorders the keys of its settings when it does that."""
    settings = claude.config / "settings.json"
    claude.config.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"model": "mock", **_foreign_hook("settings")}))
    _add_plugin(claude, market)
    before = json.loads(settings.read_text())
    install_plugin(claude)
    remove_plugin(claude)
    assert json.loads(settings.read_text()) == before


def _foreign_hook(name: str) -> dict[str, Any]:
    command = {"type": "command", "command": f'echo {name} >> "$HOME/foreign.log"'}
    return {"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}}


def _add_plugin(claude: Claude, market: Path) -> None:
    files: dict[str, object] = {
        ".claude-plugin/marketplace.json": {"name": "market", "owner": {"name": "Somebody"},
                                            "plugins": [{"name": "foreign", "source": "./foreign"}]},
        "foreign/.claude-plugin/plugin.json": {"name": "foreign", "version": "1.0.0", "description": "x"},
        "foreign/hooks/hooks.json": {"modules": ["./register.tsx"], **_foreign_hook("plugin")},
    }
    for name, value in files.items():
        path = market / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    (market / "foreign" / "hooks" / "register.tsx").write_text(FOREIGN_MODULE)
    claude_command(claude, "plugin", "marketplace", "add", str(market))
    claude_command(claude, "plugin", "install", "foreign@market")


class Neighbourhood:
    """A home with a foreign hook, a foreign plugin that has a hook, and a foreign module."""

    def __init__(self, claude: Claude, rewind: Rewind) -> None:
        self.claude = claude
        self.rewind = rewind
        self.settings = claude.config / "settings.json"
        self._log = claude.home / "foreign.log"
        self._asked = 0

    def reformat(self) -> None:
        """Write the settings in a format that no client and no installer uses."""
        found = json.loads(self.settings.read_text())
        self.settings.write_text(json.dumps(found, indent=7, separators=(" ,", ":")).replace("\n", "\r\n"))

    def check(self, *, protected: bool, commands: bool) -> None:
        """Send a prompt. Each hook must run once, including the foreign ones, and no process may remain."""
        before = self._made()
        seen = self._log.read_text().split() if self._log.exists() else []
        self._asked += 1
        with self.claude.asking_on() as ask:
            ask(f"{prompt('WRITE')} {self._asked}")
            new = self._log.read_text().split()[len(seen):]
            assert sorted(new) == ["plugin", "settings"]
            assert "foreign answers" in str(ask("/foreign").get("result"))
            assert ("needs the interactive client" in str(ask("/goback").get("result"))) is commands
        made = self._made()
        for event in ("UserPromptSubmit", "Stop"):
            assert made.count(event) - before.count(event) == int(protected), (event, made)
        wait_until(lambda: not running_in(self.claude.home), lambda: str(running_in(self.claude.home)))

    def _made(self) -> list[str]:
        found = self.rewind.run("list", "--json")
        return [str(c["trigger"].get("event")) for c in found.data["checkpoints"]] if found.code == 0 else []


def running_in(home: Path) -> Sequence[str]:
    """The processes of this home, as far as the system shows them."""
    found, wanted = [], f"HOME={home}\0".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes() + b"\0" and int(folder.name) != os.getpid():
                found.append((folder / "cmdline").read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue  # it has ended, or belongs to another user
    return found
