"""`rewind config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewind.config.settings import SETTINGS
from rewind_cli import Rewind


def values(rewind: Rewind) -> dict[str, object]:
    return {row["key"]: row["value"] for row in rewind.json("config")["settings"]}


def test_config_shows_every_setting_and_where_it_comes_from(two: Rewind) -> None:
    two.ok("config", "--set", "maxFileSizeMb=250")
    two.ok("config", "--global", "--set", "ignored=all")
    lines = two.ok("config").out.splitlines()
    rows = {line.split()[0]: line.split(None, 2) for line in lines}
    assert list(rows) == [setting.key for setting in SETTINGS]
    assert rows["maxFileSizeMb"][1:] == ["250", f"~/.rewind/storage/{two.state.name}/config.json"]
    assert rows["ignored"][1:] == ["all", "~/.rewind/config.json"]
    assert rows["tier"][1:] == ["balanced", "default"]
    assert rows["runtime.antiSpam.enabled"][2] == "tier balanced"
    assert len({line.index(row[2]) for line, row in zip(lines, rows.values())}) == 1, "aligned"


def test_one_key_prints_its_value_alone(two: Rewind) -> None:
    done = two.ok("config", "storage.maxSizeMb")
    assert done.out == "2048\n" and "default" in done.err
    assert two.ok("config", "tier").out == "balanced\n"
    assert len(two.ok("config", "storage").out.splitlines()) == 3
    (row,) = two.json("config", "tier")["settings"]
    assert row["key"] == "tier" and row["source"] == "default" and row["meaning"]


def test_set_and_unset_change_the_projects_file(two: Rewind) -> None:
    file = two.state / "config.json"
    assert str(file) in two.ok("config", "--set", "ignored=all", "--set", "maxFileSizeMb=5").out
    assert json.loads(file.read_text()) == {"ignored": "all", "maxFileSizeMb": 5}
    two.ok("config", "--unset", "ignored")
    assert json.loads(file.read_text()) == {"maxFileSizeMb": 5}
    assert "is not set" in two.ok("config", "--unset", "ignored").out


def test_the_tier_has_an_option_of_its_own(two: Rewind) -> None:
    answer = two.json("config", "--tier", "aggressive")
    assert answer["changed"][0]["key"] == "tier"
    assert values(two)["runtime.antiSpam.minIntervalSeconds"] == 15


def test_what_only_the_user_may_set_goes_to_their_own_file(two: Rewind) -> None:
    done = two.ok("config", "--set", "protect=false")
    assert "for all projects" in done.err
    assert not (two.state / "config.json").exists()
    assert json.loads((two.home / ".rewind/config.json").read_text()) == {"protect": False}
    two.ok("config", "--unset", "protect")
    assert values(two)["protect"] is True


@pytest.mark.parametrize("setting, said", [
    ("maxfilesizemb=5", "did you mean maxFileSizeMb?"), ("maxFileSizeMb=lots", "must be a number"),
    ("storage=1", "group of settings"), ("ignored=some", '"small", "all" or "none"')])
def test_a_wrong_change_is_refused_with_the_reason(two: Rewind, setting: str, said: str) -> None:
    assert said in two.fails(1, "config", "--set", setting)
    assert not (two.state / "config.json").exists()


def test_all_changes_are_made_or_none(two: Rewind) -> None:
    two.fails(1, "config", "--set", "ignored=all", "--set", "maxFileSizeMb=x")
    assert not (two.state / "config.json").exists()


def test_an_unknown_key_is_refused_when_asked_for(two: Rewind) -> None:
    assert "did you mean tier?" in two.fails(1, "config", "teir")
    two.fails(2, "config", "--set", "nonsense")
    two.fails(2, "config", "tier", "--set", "tier=minimal")


def test_config_dry_run_writes_nothing(two: Rewind) -> None:
    answer = two.json("config", "--set", "ignored=all", "--dry-run")
    assert answer["dryRun"] is True and answer["changed"][0]["value"] == "all"
    assert "Would write" in two.ok("config", "--set", "ignored=all", "--dry-run").out
    assert "Would remove" in two.ok("config", "--unset", "ignored", "--dry-run").out
    assert not (two.state / "config.json").exists()


def test_config_works_outside_a_project_on_the_users_own_file(cli: Rewind) -> None:
    assert len(cli.json("config")["settings"]) == len(SETTINGS)
    cli.ok("config", "--set", "maxFileSizeMb=7")
    assert json.loads((cli.home / ".rewind/config.json").read_text()) == {"maxFileSizeMb": 7}
    assert list(cli.project.iterdir()) == []


def test_config_shows_and_mends_a_broken_file(two: Rewind) -> None:
    file = two.state / "config.json"
    file.write_text('{"maxFileSizeMB": 5}')
    done = two.ok("config")
    assert "warning: " in done.err and "config.json" in done.err
    assert two.json("config")["problems"]
    two.ok("config", "--unset", "maxFileSizeMB")
    assert two.json("config")["problems"] == []


def test_config_of_a_store_that_is_not_trusted_is_refused(two: Rewind, tmp_path: Path) -> None:
    (two.home / ".rewind/known-stores.json").unlink()
    two.fails(1, "config", "--set", "ignored=all", hint="--trust")
    two.fails(1, "config", hint="--trust")


def test_a_setting_that_is_given_twice_is_written_once(two: Rewind) -> None:
    said = two.ok("config", "--tier", "aggressive", "--set", "tier=minimal", "--set", "tier=balanced").out
    assert said.count("Wrote") == 1 and two.ok("config", "tier").out == "aggressive\n"
