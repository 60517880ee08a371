from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rewind
from rewind.config.load import (
    PROBLEM_LIMIT,
    load_settings,
    load_tier,
    load_usable,
)
from rewind.config.settings import SETTINGS
from rewind.errors import ConfigInvalid


class Place:
    """Rewind's home and a project's state directory, each with its config.json."""

    def __init__(self, base: Path) -> None:
        self.user = base / "home" / "config.json"
        self.project = base / "state" / "config.json"
        for file in (self.user, self.project):
            file.parent.mkdir()
        self.home = str(self.user.parent)
        self.state = str(self.project.parent)

    def write(self, user: Any = None, project: Any = None) -> None:
        for file, value in ((self.user, user), (self.project, project)):
            if value is not None:
                file.write_text(value if isinstance(value, str) else json.dumps(value))

    def problems(self) -> list[str]:
        with pytest.raises(ConfigInvalid) as caught:
            load_settings(self.home, self.state)
        assert caught.value.exit_code == 1
        assert caught.value.problems == load_usable(self.home, self.state)[1]
        assert caught.value.message == "\n".join(caught.value.problems)
        return caught.value.problems


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_files_the_defaults_and_the_balanced_tier_hold(place: Place) -> None:
    settings = load_settings(place.home, place.state)
    assert settings.get("storage.maxSizeMb") == 2048
    assert settings.source("storage.maxSizeMb") == "default"
    assert settings.get("runtime.antiSpam.minIntervalSeconds") == 30
    assert settings.source("runtime.antiSpam.minIntervalSeconds") == "tier balanced"


def test_a_home_that_does_not_exist_is_an_empty_one(tmp_path: Path) -> None:
    assert load_settings(str(tmp_path / "none"), None).get("tier") == "balanced"


def test_the_users_file_beats_the_tier_and_the_projects_file_beats_both(place: Place) -> None:
    place.write(user={"runtime": {"antiSpam": {"minIntervalSeconds": 5, "enabled": False}}},
                project={"runtime": {"antiSpam": {"minIntervalSeconds": 2}}})
    settings = load_settings(place.home, place.state)
    assert settings.get("runtime.antiSpam.minIntervalSeconds") == 2
    assert settings.source("runtime.antiSpam.minIntervalSeconds") == str(place.project)
    assert settings.get("runtime.antiSpam.enabled") is False
    assert settings.source("runtime.antiSpam.enabled") == str(place.user)
    assert settings.source("runtime.significance.enabled") == "tier balanced"


def test_the_projects_choice_of_tier_beats_the_users(place: Place) -> None:
    place.write(user={"tier": "minimal"}, project={"tier": "aggressive"})
    settings = load_settings(place.home, place.state)
    assert settings.get("tier") == "aggressive"
    assert settings.source("tier") == str(place.project)
    assert settings.get("runtime.antiSpam.minIntervalSeconds") == 15
    assert settings.source("runtime.antiSpam.minIntervalSeconds") == "tier aggressive"


def test_a_users_value_beats_the_projects_tier(place: Place) -> None:
    place.write(user={"runtime": {"antiSpam": {"minIntervalSeconds": 7}}},
                project={"tier": "aggressive"})
    assert load_settings(place.home, place.state).get("runtime.antiSpam.minIntervalSeconds") == 7


def test_without_a_project_only_the_users_file_counts(place: Place) -> None:
    place.write(user={"storage": {"mode": "global"}}, project={"ignored": "all"})
    settings = load_settings(place.home, None)
    assert settings.get("storage.mode") == "global"
    assert settings.get("ignored") == "small"


def test_the_whole_can_be_seen_as_rows(place: Place) -> None:
    place.write(project={"ignored": "all"})
    settings = load_settings(place.home, place.state)
    rows = list(settings.items())
    assert [key for key, _, _ in rows] == [setting.key for setting in SETTINGS]
    assert ("ignored", "all", str(place.project)) in rows


def test_asking_for_a_key_that_does_not_exist_is_a_programming_error(place: Place) -> None:
    with pytest.raises(KeyError):
        load_settings(place.home, None).get("storage")


def test_every_problem_of_both_files_is_in_one_error(place: Place) -> None:
    place.write(user={"storage": {"mod": "global", "format": "zip"}, "tier": 3},
                project={"protect": False, "retention": 5, "maxFileSizeMb": True})
    assert place.problems() == [
        f"{place.user}: storage.mod is not a setting (did you mean storage.mode?).",
        f'{place.user}: storage.format must be "objects" or "archive", not "zip".',
        f'{place.user}: tier must be "minimal", "balanced" or "aggressive", not 3.',
        f"{place.project}: protect cannot be set by a project: "
        "the guard protects you from what a project brings along.",
        f"{place.project}: retention must be an object, not 5.",
        f"{place.project}: maxFileSizeMb must be a number from 0.001 to 1024, not true.",
    ]


def test_the_hint_names_the_file_to_correct(place: Place) -> None:
    place.write(user={}, project={"colour": "blue"})
    with pytest.raises(ConfigInvalid) as caught:
        load_settings(place.home, place.state)
    assert str(place.project) in caught.value.hint


def test_a_dotted_name_is_no_key_and_the_nested_form_is_shown(place: Place) -> None:
    place.write(user={"storage.mode": "global", "runtime": {"antiSpam.enabled": True}})
    assert place.problems() == [
        f"{place.user}: storage.mode is not a setting "
        '(did you mean {"storage": {"mode": …}}?).',
        f"{place.user}: runtime.antiSpam.enabled is not a setting "
        '(did you mean {"runtime": {"antiSpam": {"enabled": …}}}?).',
    ]


def test_a_tier_is_never_taken_for_a_path(place: Place) -> None:
    place.write(project={"tier": "../../../etc/passwd"})
    assert len(place.problems()) == 1
    with pytest.raises(KeyError):
        load_tier("../tiers/minimal")


def test_a_hook_still_gets_what_is_right_beside_what_is_wrong(place: Place) -> None:
    place.write(user={"tier": "extreme", "ignored": "all"}, project={"protect": False})
    settings, problems = load_usable(place.home, place.state)
    assert settings.get("ignored") == "all"
    assert settings.get("tier") == "balanced"
    assert settings.get("protect") is True
    assert len(problems) == 2


def test_a_flood_of_unknown_keys_is_cut_short_and_the_good_ones_still_count(place: Place) -> None:
    flood: dict[str, Any] = {f"key{number}": number for number in range(30_000)}
    place.write(user={**flood, "ignored": "all"})
    settings, problems = load_usable(place.home, place.state)
    assert len(problems) == PROBLEM_LIMIT + 1
    assert problems[-1] == f"{place.user}: further problems are not listed."
    assert settings.get("ignored") == "all"


def test_broken_json_is_named_with_line_and_column(place: Place) -> None:
    place.write(user='{\n  "tier": balanced\n}')
    assert place.problems() == [
        f"{place.user} is not valid JSON (line 2, column 11): Expecting value."]


@pytest.mark.parametrize(("text", "what"), [
    ("", "is not valid JSON (line 1, column 1)"),
    ("[]", "must hold a JSON object, not a list."),
    ("3", "must hold a JSON object, not 3."),
    ('{"tier": "minimal", "tier": "balanced"}', 'the key "tier" is there twice.'),
    ('{"storage": {"mode": "project", "mode": "global"}}', 'the key "mode" is there twice.'),
    ('{"maxFileSizeMb": NaN}', "NaN is not a number."),
    ('{"maxFileSizeMb": 1e999}', "the number 1e999 is too large."),
    ('{"maxFileSizeMb": ' + "9" * 900_000 + "}", "a number of 900000 digits is too long."),
    ('{"x": ' * 100_000 + "1" + "}" * 100_000, "is nested too deeply."),
    ("[" * 1_000_000, "is nested too deeply."),
    ('{"x": "' + "y" * (1 << 20) + '"}', "at most 1048576 are read."),
])
@pytest.mark.parametrize("whose", ["user", "project"])
def test_hostile_or_careless_content_gives_one_sentence(
        place: Place, whose: str, text: str, what: str) -> None:
    place.write(**{whose: text})
    [problem] = place.problems()
    assert problem.startswith(str(getattr(place, whose)))
    assert what in problem and "\n" not in problem


def test_bytes_that_are_not_utf8_give_one_sentence(place: Place) -> None:
    place.user.write_bytes(b'{"tier": "\xff"}')
    assert place.problems() == [f"{place.user} is not UTF-8 text (byte 10)."]


def test_a_byte_order_mark_is_let_pass(place: Place) -> None:
    place.user.write_bytes(b'\xef\xbb\xbf{"tier": "minimal"}')
    assert load_settings(place.home, None).get("tier") == "minimal"


def test_a_fifo_or_a_directory_in_place_of_the_file_is_refused_at_once(place: Place) -> None:
    os.mkfifo(place.project)
    place.user.mkdir()
    assert place.problems() == [f"{place.user} is not a regular file.",
                                f"{place.project} is not a regular file."]


def test_the_users_file_may_be_a_link_and_the_projects_may_not(place: Place) -> None:
    target = place.user.parent / "dotfiles.json"
    target.write_text('{"ignored": "all"}')
    place.user.symlink_to(target)
    assert load_settings(place.home, place.state).get("ignored") == "all"
    place.project.symlink_to(target)
    assert place.problems() == [
        f"{place.project} is a symbolic link, which is not followed here."]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_gives_one_sentence(place: Place) -> None:
    place.write(user={})
    place.user.chmod(0)
    assert place.problems() == [f"{place.user} cannot be read: Permission denied."]


def test_loading_imports_nothing_that_a_hook_cannot_afford(place: Place) -> None:
    place.write(user={"tier": "aggressive"})  # every installation has such a file
    source = os.path.dirname(os.path.dirname(rewind.__file__))
    code = (f"import sys; sys.path.insert(0, {source!r})\n"
            "from rewind.config.load import load_settings\n"
            f"load_settings({place.home!r}, {place.state!r})\n"
            "print(*sorted(sys.modules))")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code],
                          capture_output=True, text=True, check=True)
    costly = {"dataclasses", "typing", "pathlib", "difflib", "logging", "subprocess", "hashlib", "json", "re",
              "enum", "functools", "collections"}
    assert not costly & set(done.stdout.split())
