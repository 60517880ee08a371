"""Every command, option, setting, exit code and variable is in the documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rewind.errors as errors
from rewind.cli.parse.arguments import make_parser
from rewind.cli.parse.commands import COMMANDS, load_command
from rewind.config.settings import SETTINGS, Setting
from rewind.errors import RewindError
from rewind.snapshot.rules.reason_codes import Reasons

TOP = Path(__file__).resolve().parents[1]
DOCS = TOP / "docs"
COMMON = {"-h", "--help", "-C", "--project", "--json", "-q", "--quiet", "-v", "--verbose"}
EXIT_CODES = {name: value for name, value in vars(errors).items()
              if name.isupper() and isinstance(value, int)}
ERRORS = [value for value in vars(errors).values()
          if isinstance(value, type) and issubclass(value, RewindError)]


def section(text: str, title: str) -> str:
    """From a heading to the next one of its kind or above."""
    found = re.search(rf"^(#+) {re.escape(title)}$(.*?)(?=^#{{1,3}} |\Z)", text, re.M | re.S)
    assert found, f"there is no section {title}"
    return found[2]


def words(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))


@pytest.fixture(scope="module")
def cli() -> str:
    return (DOCS / "cli.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(cli: str, command: str) -> None:
    documented = words(section(cli, f"rewind {command}").replace("patch -p1", ""))
    actions = make_parser(load_command(command), command)._actions
    options = {option for action in actions for option in action.option_strings} - COMMON
    assert options <= documented
    others = {option for name in COMMANDS for action in make_parser(load_command(name), name)._actions
              for option in action.option_strings}
    assert not {o for o in documented if o not in others}, "an option that does not exist"


def test_the_common_options_are_documented(cli: str) -> None:
    assert words(section(cli, "Options that every command has")) >= COMMON


def test_no_command_is_documented_that_does_not_exist(cli: str) -> None:
    assert set(re.findall(r"^### rewind (\S+)$", cli, re.M)) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_json_of_every_command_is_documented(cli: str, command: str) -> None:
    assert re.search(rf"^\|[^|]*`{command}`[^|]*\| `?\w", section(cli, "JSON"), re.M)


def test_every_environment_variable_is_documented(cli: str) -> None:
    text = section(cli, "Environment")
    for file in sorted((TOP / "src").rglob("*.py")):
        for name in re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", file.read_text()):
            if name.startswith("REWIND_") or name == "NO_COLOR":
                assert f"`{name}`" in text, (name, file)


@pytest.mark.parametrize("reason", [
    Reasons.SKIP_LIST, Reasons.IGNORED, Reasons.IGNORED_LARGE, Reasons.TOO_LARGE, Reasons.SPECIAL,
    Reasons.PINS_ONLY, Reasons.UNREADABLE])
def test_every_reason_is_documented(cli: str, reason: bytes) -> None:
    assert f"`{reason.decode()}`" in cli


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.key)
def test_every_setting_is_documented_as_it_is(setting: Setting) -> None:
    rows = [line for line in (DOCS / "configuration.md").read_text().splitlines()
            if line.startswith(f"| `{setting.key}` |")]
    assert len(rows) == 1, f"{setting.key} is in {len(rows)} rows"
    _, _, default, values, meaning, _ = (cell.strip() for cell in rows[0].split("|"))
    shown = setting.default if isinstance(setting.default, str) else json.dumps(setting.default)
    assert default.startswith(f"`{shown}`")
    assert meaning.startswith(setting.meaning.split(":")[0].rstrip("."))
    assert ("*Yours.*" in meaning) == bool(setting.user_only)
    for choice in setting.choices:
        assert f"`{choice}`" in values
    if setting.high:
        assert f"{setting.low} to {setting.high:,}" in values
        assert (f"project: {setting.project_high:,}" in values) == (setting.project_high != setting.high)


def test_no_setting_is_documented_that_does_not_exist() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|", (DOCS / "configuration.md").read_text(), re.M)
    assert rows == [setting.key for setting in SETTINGS]


@pytest.mark.parametrize("name", EXIT_CODES)
def test_every_exit_code_is_documented(name: str) -> None:
    text = (DOCS / "exit-codes.md").read_text()
    assert f"| {EXIT_CODES[name]} | {name.lower().replace('_', '-')} |" in text


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.__name__)
def test_every_error_is_documented_with_its_exit_code(error: type[RewindError]) -> None:
    code = RewindError.code.fget(error.__new__(error))  # type: ignore[attr-defined]
    assert f"| `{code}` | {error.exit_code} |" in (DOCS / "exit-codes.md").read_text()


@pytest.mark.parametrize("file", sorted(DOCS.glob("*.md")), ids=lambda f: f.name)
def test_links_between_the_pages_lead_somewhere(file: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", file.read_text()):
        page = file.parent / target if target else file
        assert page.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
            assert anchor in [re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles]


def test_the_worked_example_of_a_profile_is_a_valid_one() -> None:
    from rewind.agents.check import make_profile

    found = re.findall(r"```json\n([^`]*)```", (DOCS / "agents.md").read_text())
    profiles = [json.loads(text) for text in found if '"recognise"' in text]
    assert profiles
    for profile in profiles:
        assert make_profile(profile, "docs/agents.md").name == profile["name"]
