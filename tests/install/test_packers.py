"""Builds that would take the checkpoints along; and checkpoints that a build or a shell command removed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rewind.install.doctor.packers import unprotected_builds
from rewind_cli import Rewind

HATCH = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'


def builds(project: Path) -> list[str]:
    return [what for what, _ in unprotected_builds(str(project))]


def test_hatchling_and_docker_leak_unless_they_are_told_not_to(project: Path) -> None:
    (project / "pyproject.toml").write_text(HATCH)
    (project / "Dockerfile").write_text("FROM scratch\nCOPY . /\n")
    assert builds(project) == ["hatchling", "docker build"]
    (project / ".gitignore").write_text("/.agent/\n")
    assert builds(project) == ["docker build"]
    (project / ".dockerignore").write_text("**/.*\n")
    assert builds(project) == []


@pytest.mark.parametrize("name, text", [("package.json", "{}"), ("Cargo.toml", "[package]"),
                                        ("pyproject.toml", '[build-system]\nrequires = ["setuptools"]')])
def test_others_do_not(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)
    assert builds(project) == []


@pytest.mark.parametrize("mode", ["project", "global"])
def test_the_doctor_warns_where_the_checkpoints_are_in_the_project(rewind: Rewind, mode: str) -> None:
    (rewind.project / "pyproject.toml").write_text(HATCH)
    rewind.init(mode)
    said = rewind.run("doctor").out
    assert ("hatchling would include the checkpoints" in said) == (mode == "project")


@pytest.mark.slow
def test_checkpoints_that_something_removed_are_missed(rewind: Rewind) -> None:
    rewind.init("project")
    name = rewind.save()
    assert rewind.json("validate")["ok"] is True
    shutil.rmtree(rewind.state / "checkpoints")
    for _ in range(2):
        problems = rewind.json("validate", code=20)["problems"]
        assert any(name in text for text in problems)
        assert f"{name} is gone" in rewind.run("doctor").out
        rewind.save("the next one does not cover it up")
    rewind.ok("validate", "--deep", "--repair", "--yes")
    assert rewind.json("validate")["ok"] is True


def test_what_is_collected_is_not_missed(rewind: Rewind) -> None:
    rewind.init()
    for number in range(3):
        (rewind.project / "a").write_text(str(number))
        rewind.save()
    rewind.ok("gc", "--keep", "1")
    assert rewind.json("validate")["ok"] is True
