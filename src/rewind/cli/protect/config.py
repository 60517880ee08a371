"""Show the settings in force and where each comes from, or change them.

Each overrides the one before: default, tier, your own file (~/.rewind/config.json), the project's
file. Changes go into the project's file, or with `--global` into your own; outside a project
there is only yours.

`--set storage.mode=global` (or `project`) moves the checkpoints of this project; with `--global` it says
where those of new projects go.

`--register-hooks` registers the hooks of the tier with the agents that are found, and `--unregister-hooks`
removes them. With `--in-project`, both change the agents' settings files in this project, which everybody who
works in it shares.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller, print_json
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint
from rewind.cli.protect import hook_options
from rewind.controller import (
    BY_KEY,
    CONFIG_FILE,
    GROUPS,
    invalid,
    load_usable,
    set_value,
    unknown,
    unset_value,
)
from rewind.errors import DONE, PARTIAL, NotInitialised, UsageError
from rewind.install.machine.installer import Registered
from rewind.paths import Project, rewind_home
from rewind.words import from_home, safe

if TYPE_CHECKING:
    from typing import TypedDict

    class SettingJson(TypedDict):
        key: str
        value: object
        source: str
        default: object
        meaning: str

MODE = "storage.mode"
summary = "show or change the settings"
examples = ("rewind config", "rewind config storage.maxSizeMb",
            "rewind config --set maxFileSizeMb=250", "rewind config --tier aggressive --global",
            "rewind config --unset maxFileSizeMb", "rewind config --register-hooks",
            "rewind config --set storage.mode=global   # move the checkpoints out")


def arguments(parser: Parser) -> None:
    parser.add_argument("key", nargs="?", metavar="KEY", help="show only this setting or group")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="change a setting; may be repeated")
    parser.add_argument("--unset", action="append", default=[], metavar="KEY",
                        help="remove a setting from the file; may be repeated")
    parser.add_argument("--tier", choices=BY_KEY["tier"].choices, help="the same as --set tier=…")
    parser.add_argument("--global", action="store_true", dest="everywhere",
                        help="change your own file instead of the project's")
    parser.add_argument("--register-hooks", action="store_true",
                        help="register the hooks of the tier with the agents")
    parser.add_argument("--unregister-hooks", action="store_true", help="remove those hooks")
    parser.add_argument("--in-project", action="store_true",
                        help="with these two: in the agents' settings files of the project")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be changed")


def run(args: Args) -> int:
    place = _Place(args)
    hooks = hook_options.are_given(args)
    wanted = dict(_split(text) for text in args.set)  # if a key is given twice, the last value counts
    if args.tier:
        wanted["tier"] = args.tier
    mode = wanted.pop(MODE, "") if place.project and not args.everywhere else ""
    if mode:
        if wanted or args.unset or hooks:
            raise UsageError("storage.mode moves the checkpoints, so it is set alone.",
                             hint=f"Run `rewind config --set storage.mode={mode}` by itself.")
        return _move(args, place, mode)
    if not wanted and not args.unset and not hooks:
        return _show(args, place)
    if args.key:
        raise UsageError("KEY shows a setting and cannot be combined with a change.",
                         hint=f"Write `rewind config --set {args.key}=VALUE` to change it.")
    changes = [_Change(place, key, text) for key, text in wanted.items()]
    changes += [_Change(place, key, None) for key in args.unset]
    if not args.dry_run:
        for change in changes:
            change.apply()
    changed = hook_options.change_hooks(args, place.home, place.project) if hooks else []
    _report(changes, changed, args)
    if not hooks and any(change.key == "tier" for change in changes):
        hook_options.tell_missing_hooks(place.home, place.project)
    return PARTIAL if any(one.problem for one in changed) else DONE


def _move(args: Args, place: _Place, mode: str) -> int:
    """For one project this is not a setting: its checkpoints are moved."""
    _Change(place, MODE, mode)  # refuses an invalid value
    project = place.project
    assert project is not None
    is_there = project.mode == mode
    if not args.dry_run:
        with ProgressLine() as progress:
            project = open_controller(args, forgiving=True).move_store(mode, progress)
    done = "The checkpoints are already in" if is_there else (
        "Would move the checkpoints from" if args.dry_run else "Moved the checkpoints to")
    return answer(args, {"mode": mode, "state": project.state, "moved": not is_there, "dryRun": args.dry_run},
                  f"{done} {safe(project.state)}")


class _Place:
    """The configuration files that apply here."""

    def __init__(self, args: Args) -> None:
        self.project: Project | None = None
        self.home = rewind_home()
        try:
            self.project = open_controller(args, forgiving=True).project
        except NotInitialised:
            if args.project:
                raise
        self.everywhere = args.everywhere or self.project is None

    def file_for(self, key: str) -> tuple[str, bool]:
        """The file that a change of `key` goes to, and whether it is the project's."""
        setting = BY_KEY.get(key)
        if self.project is None or self.everywhere or (setting and setting.user_only):
            return os.path.join(self.home, CONFIG_FILE), False
        return self.project.path(CONFIG_FILE), True

    def short(self, source: str) -> str:
        """A file as a person would name it."""
        root = self.project.root + os.sep if self.project else ""
        return source[len(root):] if root and source.startswith(root) else from_home(source)


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"{text} is not of the form KEY=VALUE", hint="Write `--set maxFileSizeMb=250`.")
    return key.strip(), value.strip()


class _Change:
    """One change. All are checked before the first is written, so all of them are written or none."""

    def __init__(self, place: _Place, key: str, text: str | None) -> None:
        self.key = key
        self.text = text
        self.file, self.in_project = place.file_for(key)
        self.done: bool = True
        self.value: Any = None
        self.moved = not self.in_project and not place.everywhere
        if text is not None:
            self.value = self._checked(text)

    def _checked(self, text: str) -> Any:
        setting = BY_KEY.get(self.key)
        if setting is None:
            problem = (f"{self.key} is a group of settings" if self.key in GROUPS else unknown(self.key))
            raise invalid(self.file, problem + ".", hint="Run `rewind config` to see every setting.")
        value = setting.parse(text)
        problem = setting.problem(value, self.in_project)
        if problem:
            raise invalid(self.file, problem + ".", hint=setting.meaning)
        return value

    def apply(self) -> None:
        if self.text is None:
            self.done = unset_value(self.file, self.key, self.in_project)
        else:
            self.value = set_value(self.file, self.key, self.text, self.in_project)


def _report(changes: list[_Change], hooks: list[Registered], args: Args) -> None:
    if args.json:
        print_json({"changed": [{"key": c.key, "value": c.value, "unset": c.text is None,
                                 "file": c.file} for c in changes if c.done],
                    "hooks": hook_options.hooks_json(hooks), "dryRun": args.dry_run})
        return
    hook_options.report_hooks(hooks, args)
    for change in changes:
        if change.moved:
            note(f"{change.key} can only be set for all projects, so it goes into your own file.")
        would = "Would write" if args.dry_run else "Wrote"
        if change.text is not None:
            print(f"{would} {change.key} = {json.dumps(change.value)} into {safe(change.file)}")
        elif change.done:
            verb = "Would remove" if args.dry_run else "Removed"
            print(f"{verb} {safe(change.key)} from {safe(change.file)}")
        else:
            print(f"{change.key} is not set in {safe(change.file)}")


def _show(args: Args, place: _Place) -> int:
    settings, problems = load_usable(place.home, place.project.state if place.project else None)
    rows = [row for row in settings.items() if _wanted(row[0], args.key)]
    if not rows:
        raise invalid("", unknown(args.key) + ".", hint="Run `rewind config` to see every setting.")
    if args.json:
        print_json({"settings": [_json(*row) for row in rows], "problems": problems})
        return 0
    for problem in problems:
        note(f"warning: {safe(problem)}")
    if args.key in BY_KEY:
        print(_text(rows[0][1]))
        note(f"{BY_KEY[args.key].meaning} From: {safe(place.short(rows[0][2]))}")
    else:
        _table(rows, place)
    return 0


def _wanted(key: str, asked: str | None) -> bool:
    return asked is None or key == asked or key.startswith(asked + ".")


def _json(key: str, value: object, source: str) -> SettingJson:
    return {"key": key, "value": value, "source": source, "default": BY_KEY[key].default,
            "meaning": BY_KEY[key].meaning}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(rows: list[tuple[str, Any, str]], place: _Place) -> None:
    widest = max(len(key) for key, _, _ in rows)
    broadest = max(len(_text(value)) for _, value, _ in rows)
    for key, value, source in rows:
        text = f"{_text(value):<{broadest}}"
        plain = source == "default" or source.startswith("tier ")
        print(f"{key:<{widest}}  {text if plain else paint(text, 'cyan')}"
              f"  {paint(safe(place.short(source)), 'dim')}")
