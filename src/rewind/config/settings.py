"""The table of settings: key, kind, range, default, meaning, and who may set it.

It consists of data and of checks of single values. Files are read in load.py and written in edit.py.
"""

from __future__ import annotations

from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

YEARS_100 = 36_500  # days: a maximum that only catches mistakes, such as seconds instead of days


class Setting:
    """One row of the table. `project_high` is the maximum in the file of a project."""

    __slots__ = ("choices", "default", "high", "key", "kind", "low", "meaning", "project_high",
                 "user_only")

    def __init__(self, key: str, kind: str, default: Any, meaning: str, *,
                 choices: tuple[str, ...] = (), low: float = 0, high: float = 0,
                 project_high: float = 0, user_only: str = "") -> None:
        self.key = key
        self.kind = kind
        self.default = default
        self.meaning = meaning
        self.choices = choices
        self.low = low
        self.high = high
        self.project_high = project_high or high
        self.user_only = user_only

    def expected(self, project: bool = False) -> str:
        if self.kind == "choice":
            quoted = [quickjson.dumps(choice) for choice in self.choices]
            return ", ".join(quoted[:-1]) + " or " + quoted[-1]
        if self.kind == "boolean":
            return "true or false"
        noun = "a whole number" if self.kind == "integer" else "a number"
        high = self.project_high if project else self.high
        return f"{noun} from {self.low} to {high}"

    def problem(self, value: Any, project: bool) -> str:
        """What is wrong with this value in the file of a project (or of the user), or an empty text."""
        if project and self.user_only:
            return f"{self.key} cannot be set by a project: {self.user_only}"
        if not self._has_kind(value):
            return f"{self.key} must be {self.expected(project)}, not {shown(value)}"
        if self.kind in ("integer", "number") and value > self.project_high and project:
            return (f"{self.key} must be {self.expected(project)} in a project's file, "
                    f"not {shown(value)}; your own config.json may go up to {self.high}")
        return ""

    def _has_kind(self, value: Any) -> bool:
        if self.kind == "choice":
            return type(value) is str and value in self.choices
        if self.kind == "boolean":
            return type(value) is bool
        # `type() is`, because `isinstance(True, int)` holds. The comparison also refuses NaN.
        numeric = type(value) is int or (self.kind == "number" and type(value) is float)
        return numeric and self.low <= value <= self.high

    def parse(self, text: str) -> Any:
        """The value that a person typed. If it cannot be parsed it stays text, and `problem` reports it."""
        if self.kind == "choice":
            return text
        if self.kind == "boolean":
            return {"true": True, "false": False}.get(text.lower(), text)
        for number in (int, float):
            try:
                return number(text) if len(text) < 32 and "_" not in text else text
            except ValueError:
                continue
        return text


def shown(value: Any) -> str:
    """A value from a file as a part of a sentence: not too long, and with control characters escaped."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = quickjson.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def shown_key(key: str) -> str:
    plain = key.isascii() and key.isprintable() and 0 < len(key) <= 60
    return key if plain else shown(key)


# What the file of a project may not set, and why. The file may come with a cloned repository, and it is where
# the agent works. It may weaken the protection of its own project (so may a `.rewindignore`, and `rewind
# status --unprotected` shows it), but it may not
#   - switch off the guard, which protects the checkpoints from the agent;
#   - decide where state is written, or whether projects are initialised without asking: both are decided
#     before the file is read, so it could only mislead;
#   - fill the disk: sizes in the file of a project end at `project_high`.
SETTINGS = (
    Setting("tier", "choice", "balanced", "How often checkpoints are taken.",
            choices=("minimal", "balanced", "aggressive")),
    Setting("runtime.antiSpam.enabled", "boolean", True,
            "Whether checkpoints before edits are limited to one per interval."),
    Setting("runtime.antiSpam.minIntervalSeconds", "number", 30,
            "The minimum time between two such checkpoints, in seconds.", high=86_400),
    Setting("runtime.significance.enabled", "boolean", True,
            "Whether small edits are skipped."),
    Setting("runtime.significance.minChangeSize", "integer", 50,
            "An edit below this many characters does not by itself cause a checkpoint.",
            high=1_000_000),
    Setting("init.auto", "choice", "git",
            "Where hooks initialise a project by themselves: in git work trees, anywhere, nowhere.",
            choices=("git", "always", "never"),
            user_only="it is decided before a project has a file of its own"),
    Setting("protect", "boolean", True,
            "Whether the guard keeps agents away from the checkpoints.",
            user_only="the guard protects you from what a project brings along"),
    Setting("hooks.sessionStartContext", "boolean", False,
            "Whether the agent is told at its start that checkpoints are taken."),
    Setting("storage.maxSizeMb", "number", 2048,
            "The size in MB above which the oldest automatic checkpoints are collected.",
            low=1, high=100_000_000, project_high=20_480),
    Setting("storage.mode", "choice", "global",
            "Where the checkpoints are: in Rewind's home, or in the project.",
            choices=("project", "global"),
            user_only="where its state lies is your choice, made by `rewind init --mode`"),
    Setting("storage.format", "choice", "objects",
            "How new snapshots are stored: deduplicated objects, or one tar.gz each.",
            choices=("objects", "archive")),
    Setting("retention.keepAllHours", "number", 24,
            "For this many hours every checkpoint is kept (0: no such stage).",
            high=YEARS_100 * 24),
    Setting("retention.hourlyDays", "number", 7,
            "For this many days one automatic checkpoint an hour is kept (0: no such stage).",
            high=YEARS_100),
    Setting("retention.dailyDays", "number", 30,
            "For this many days one automatic checkpoint a day is kept (0: no such stage).",
            high=YEARS_100),
    # Not 0: half of the readers would take it for "no limit", and it would protect nothing.
    Setting("maxFileSizeMb", "number", 100, "Files above this size in MB are not captured.",
            low=0.001, high=1_000_000, project_high=1024),
    Setting("ignored", "choice", "small",
            "Which files that git ignores are captured: small ones, all, or none.",
            choices=("small", "all", "none")),
    Setting("ignoredFileMaxKb", "number", 1024,
            "A single ignored file is small up to this size in KB.",
            high=1_000_000_000, project_high=102_400),
    Setting("ignoredDirMaxFiles", "integer", 500,
            "An ignored directory is small up to this number of files.",
            high=100_000_000, project_high=100_000),
    Setting("ignoredDirMaxMb", "number", 10,
            "An ignored directory is small up to this size in MB.",
            high=1_000_000, project_high=1024),
    Setting("scan.monitor", "choice", "auto",
            "Whether Watchman is asked what changed: where it runs and the project is large, always, never.",
            choices=("auto", "watchman", "off"),
            user_only="whether Rewind talks to another program is your choice"),
    Setting("branches.max", "integer", 50,
            "The number of branches above which a warning says how to clean up.", high=1_000_000),
    Setting("branches.archiveAfterDays", "number", 0,
            "Branches untouched for this many days are archived (0: never).", high=YEARS_100),
    Setting("ui.theme", "choice", "auto",
            "The colours of the terminal UI: by the terminal's background, or always light or dark.",
            choices=("auto", "light", "dark"),
            user_only="how your screen looks is your choice"),
    Setting("plugin.followRewind", "choice", "ask",
            "Whether files follow Claude Code's own rewind: after a question, always, or never.",
            choices=("ask", "always", "never"),
            user_only="whether files are restored without a question is your choice"),
    Setting("plugin.band", "boolean", False,
            "Whether the Claude Code plugin shows turn, checkpoint and changed files above the prompt.",
            user_only="how your screen looks is your choice"),
)

BY_KEY = {setting.key: setting for setting in SETTINGS}
GROUPS = frozenset(key[:at] for key in BY_KEY for at, c in enumerate(key) if c == ".")


def unknown(key: str) -> str:
    """The problem with a key that is not in the table, and the key that may have been meant."""
    near = _nearest(key)
    text = f"{shown_key(key)} is not a setting"
    return f"{text} (did you mean {near}?)" if near else text


def _nearest(key: str) -> str:
    import difflib  # only needed for an error

    if key in BY_KEY:  # a dotted name as one key
        return '{"' + key.replace(".", '": {"') + '": …' + "}" * (key.count(".") + 1)
    wanted = key[:80].lower()
    names = {name.lower(): name for name in (*GROUPS, *BY_KEY)}
    last = [name for name in BY_KEY if name.lower().endswith("." + wanted.rpartition(".")[2])]
    if wanted in names or len(last) == 1:
        return names.get(wanted) or last[0]
    close = difflib.get_close_matches(wanted, list(names), n=1, cutoff=0.7)
    return names[close[0]] if close else ""
