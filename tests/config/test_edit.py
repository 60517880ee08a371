from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rewind.config.edit import set_value, unset_value
from rewind.config.load import load_settings
from rewind.errors import ConfigInvalid, StateUnwritable


def test_a_value_is_written_nested_and_then_in_force(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = home / "config.json"
    assert set_value(str(file), "runtime.antiSpam.minIntervalSeconds", "12", project=False) == 12
    assert file.read_text() == ('{\n  "runtime": {\n    "antiSpam": {\n'
                                '      "minIntervalSeconds": 12\n    }\n  }\n}\n')
    assert load_settings(str(home), None).get("runtime.antiSpam.minIntervalSeconds") == 12
    assert file.stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700


def test_everything_else_in_the_file_stays_in_its_order(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"zeta": [1, "für"], "storage": {"x": null, "mode": "project"}, "a": 1}')
    set_value(str(file), "storage.mode", "global", project=False)
    assert file.read_text() == json.dumps(
        {"zeta": [1, "für"], "storage": {"x": None, "mode": "global"}, "a": 1}, indent=2) + "\n"


@pytest.mark.parametrize(("key", "text", "what"), [
    ("protect", "maybe", 'protect must be true or false, not "maybe".'),
    ("branches.max", "1.5", "branches.max must be a whole number from 0 to 1000000, not 1.5."),
    ("maxFileSizeMb", "nan", "not NaN."),
    ("storage.mod", "global", "(did you mean storage.mode?)."),
    ("retention", "{}", "retention is a group of settings: retention.keepAllHours, "
                        "retention.hourlyDays, retention.dailyDays."),
])
def test_what_cannot_be_is_refused_and_nothing_is_written(
        tmp_path: Path, key: str, text: str, what: str) -> None:
    file = tmp_path / "config.json"
    with pytest.raises(ConfigInvalid) as caught:
        set_value(str(file), key, text, project=False)
    assert caught.value.message.endswith(what)
    assert not os.listdir(tmp_path)


def test_a_users_setting_cannot_be_written_into_a_projects_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="cannot be set by a project"):
        set_value(str(tmp_path / "config.json"), "protect", "false", project=True)


@pytest.mark.parametrize("text", ["{oops", '{"storage": 5}', '{"tier": "minimal", "tier": 1}'])
def test_a_file_that_cannot_be_understood_is_never_overwritten(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(ConfigInvalid, match=r"config\.json"):
        set_value(str(file), "storage.mode", "global", project=False)
    assert file.read_text() == text


def test_one_wrong_value_can_be_mended_while_another_is_still_wrong(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"tier": 1, "ignored": 2}')
    set_value(str(file), "tier", "minimal", project=True)
    assert json.loads(file.read_text()) == {"tier": "minimal", "ignored": 2}


def test_a_link_into_the_dotfiles_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "rewind.json"
    target.parent.mkdir()
    target.write_text("{}")
    link = tmp_path / "config.json"
    link.symlink_to(target)
    set_value(str(link), "tier", "minimal", project=False)
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"tier": "minimal"}


def test_a_link_in_a_projects_state_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "precious.json"
    target.write_text("{}")
    link = tmp_path / "config.json"
    link.symlink_to(target)
    with pytest.raises(ConfigInvalid, match="symbolic link"):
        set_value(str(link), "tier", "minimal", project=True)
    assert target.read_text() == "{}"


def test_removing_a_value_also_removes_the_groups_it_leaves_empty(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"runtime": {"antiSpam": {"enabled": true}}, "tier": "minimal"}')
    assert unset_value(str(file), "runtime.antiSpam.enabled", project=True) is True
    assert json.loads(file.read_text()) == {"tier": "minimal"}


def test_removing_what_is_not_set_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"storage":5}')
    assert unset_value(str(file), "storage.mode", project=True) is False
    assert file.read_text() == '{"storage":5}'


def test_a_mistyped_key_can_be_removed_but_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"teir": "minimal"}')
    assert unset_value(str(file), "teir", project=False) is True
    with pytest.raises(ConfigInvalid, match="did you mean tier"):
        unset_value(str(file), "teir", project=False)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a directory should be")
    file = tmp_path / "home" / "config.json"
    with pytest.raises((StateUnwritable, ConfigInvalid), match="Not a directory"):
        set_value(str(file), "tier", "minimal", project=False)
