from __future__ import annotations

import math

import pytest

from rewind.config.settings import BY_KEY, GROUPS, SETTINGS, shown, unknown

DEFAULTS = {
    "tier": "balanced",
    "runtime.antiSpam.enabled": True,
    "runtime.antiSpam.minIntervalSeconds": 30,
    "runtime.significance.enabled": True,
    "runtime.significance.minChangeSize": 50,
    "init.auto": "git",
    "protect": True,
    "hooks.sessionStartContext": False,
    "storage.maxSizeMb": 2048,
    "storage.mode": "global",
    "storage.format": "objects",
    "retention.keepAllHours": 24,
    "retention.hourlyDays": 7,
    "retention.dailyDays": 30,
    "maxFileSizeMb": 100,
    "ignored": "small",
    "ignoredFileMaxKb": 1024,
    "ignoredDirMaxFiles": 500,
    "ignoredDirMaxMb": 10,
    "scan.monitor": "auto", "branches.max": 50,
    "branches.archiveAfterDays": 0, "ui.theme": "auto",
    "plugin.followRewind": "ask", "plugin.band": False,
}
NUMERIC = [s.key for s in SETTINGS if s.kind in ("integer", "number")]


def test_the_table_holds_the_designed_keys_and_defaults() -> None:
    assert {setting.key: setting.default for setting in SETTINGS} == DEFAULTS


def test_no_key_is_also_a_group() -> None:
    assert not GROUPS & BY_KEY.keys()
    assert {"runtime", "runtime.antiSpam", "retention"} <= GROUPS


@pytest.mark.parametrize("key", BY_KEY)
def test_every_setting_says_what_it_means_in_one_sentence(key: str) -> None:
    meaning = BY_KEY[key].meaning
    assert meaning.endswith(".") and "\n" not in meaning and meaning[0].isupper()


@pytest.mark.parametrize("key", BY_KEY)
def test_every_default_is_valid_for_the_user_and_within_a_projects_limits(key: str) -> None:
    setting = BY_KEY[key]
    assert setting.problem(setting.default, project=False) == ""
    if not setting.user_only:
        assert setting.problem(setting.default, project=True) == ""


@pytest.mark.parametrize("key", BY_KEY)
@pytest.mark.parametrize("value", [None, [], {}, "", "no such choice", math.nan, math.inf, -1])
def test_a_value_of_the_wrong_kind_is_named_with_what_was_expected(key: str, value: object) -> None:
    setting = BY_KEY[key]
    problem = setting.problem(value, project=False)
    assert problem == f"{key} must be {setting.expected()}, not {shown(value)}"


@pytest.mark.parametrize("key", NUMERIC)
@pytest.mark.parametrize("value", [True, False, "30", 10**30])
def test_booleans_texts_and_absurd_sizes_are_not_numbers(key: str, value: object) -> None:
    assert BY_KEY[key].problem(value, project=False)


def test_one_is_not_true() -> None:
    assert BY_KEY["protect"].problem(1, project=False) == "protect must be true or false, not 1"


def test_whole_numbers_are_asked_for_only_where_a_fraction_makes_no_sense() -> None:
    assert BY_KEY["maxFileSizeMb"].problem(0.5, project=False) == ""
    assert "a whole number" in BY_KEY["branches.max"].problem(0.5, project=False)


@pytest.mark.parametrize("key", ["protect", "init.auto", "storage.mode"])
def test_a_project_cannot_touch_the_guard_or_where_state_is_made(key: str) -> None:
    setting = BY_KEY[key]
    problem = setting.problem(setting.default, project=True)
    assert problem == f"{key} cannot be set by a project: {setting.user_only}"


def test_only_those_seven_are_the_users_alone() -> None:
    alone = {"protect", "init.auto", "storage.mode", "scan.monitor", "ui.theme", "plugin.followRewind",
             "plugin.band"}
    assert {s.key for s in SETTINGS if s.user_only} == alone


@pytest.mark.parametrize("key", ["storage.maxSizeMb", "maxFileSizeMb", "ignoredFileMaxKb",
                                 "ignoredDirMaxFiles", "ignoredDirMaxMb"])
def test_a_project_cannot_ask_for_as_much_disk_as_the_user_can(key: str) -> None:
    setting = BY_KEY[key]
    much = setting.project_high + 1
    assert setting.problem(much, project=False) == ""
    assert "in a project's file" in setting.problem(much, project=True)
    assert setting.problem(setting.project_high, project=True) == ""


@pytest.mark.parametrize(("key", "text", "value"), [
    ("tier", "minimal", "minimal"),
    ("protect", "false", False),
    ("protect", "True", True),
    ("protect", "1", "1"),
    ("branches.max", "30", 30),
    ("maxFileSizeMb", "0.5", 0.5),
    ("maxFileSizeMb", "1_000", "1_000"),
    ("maxFileSizeMb", "9" * 100_000, "9" * 100_000),
    ("maxFileSizeMb", "many", "many"),
])
def test_typed_text_is_read_by_the_settings_kind(key: str, text: str, value: object) -> None:
    parsed = BY_KEY[key].parse(text)
    assert parsed == value and type(parsed) is type(value)


@pytest.mark.parametrize(("key", "near"), [
    ("storage.maxSizeMB", "storage.maxSizeMb"),
    ("storage.mod", "storage.mode"),
    ("maxSizeMb", "storage.maxSizeMb"),
    ("antiSpam.minIntervalSeconds", "runtime.antiSpam.minIntervalSeconds"),
    ("ignored.dirMaxFiles", "ignoredDirMaxFiles"),
    ("retension", "retention"),
    ("storage.mode", '{"storage": {"mode": …}}'),
])
def test_an_unknown_key_comes_with_the_one_that_was_meant(key: str, near: str) -> None:
    assert unknown(key) == f"{key} is not a setting (did you mean {near}?)"


def test_a_key_like_no_other_comes_without_advice() -> None:
    assert unknown("colour") == "colour is not a setting"


def test_what_a_stranger_wrote_is_shown_bounded_and_without_control_characters() -> None:
    assert shown("\x1b[2J\udc80") == r'"\u001b[2J\udc80"'
    assert len(shown("x" * 1000)) == 60
    assert unknown("\x1b[2J") == r'"\u001b[2J" is not a setting'
    assert len(unknown("x" * 100_000)) < 100
