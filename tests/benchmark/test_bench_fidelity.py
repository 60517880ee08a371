"""The torture tree tells a tool that brings everything back from one that does not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from bench.peers import registry
from bench.peers.archives import TarZstd
from bench.peers.peer import Missing, Peer
from bench.rows import fidelity
from bench.rows.registry import ROWS
from bench.rows.row import Checks
from bench.skipped import Skipped
from bench.spawn import CommandFailed
from bench.torture import PROPERTIES, build, contents
from bench.workplace import Workplace


class Copy(Peer):
    """As faithful as can be, but for the times and inodes of what it writes."""

    def version(self) -> str:
        return "1"

    def first(self) -> None:
        self.snapshot()

    def snapshot(self) -> str:
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.copytree(self._project, self.store, symlinks=True)
        return str(self.store)

    def restore(self, mark: str) -> None:
        shutil.rmtree(self._project)
        shutil.copytree(mark, self._project, symlinks=True)


class Idle(Copy):
    """Says that all is well and does nothing."""

    def restore(self, mark: str) -> None:
        pass


class Shy(Copy):
    """Takes no snapshot of a project with an `.env`, and gives up on a restore half-way."""

    def snapshot(self) -> str:
        if (self._project / ".env").exists():
            raise CommandFailed("a secret!")
        return super().snapshot()

    def restore(self, mark: str) -> None:
        easy, hard = Path("a.txt"), self._project / "link"
        if (Path(mark) / easy).exists():
            shutil.copy(Path(mark) / easy, self._project / easy)
        if hard.is_symlink():
            raise CommandFailed("a link!")
        super().restore(mark)


def ask(place: Workplace, monkeypatch: pytest.MonkeyPatch, peer: type[Peer]) -> dict[str, str]:
    monkeypatch.setitem(registry.PEERS, "tested", peer)
    found = fidelity._checks("tested")(place)
    assert isinstance(found, Checks)
    return found.answers


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.name)
def test_every_damage_is_seen(prop, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    build(tmp_path / "project", [prop], {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    root = os.fsencode(tmp_path / "project")
    before = contents(root, prop)
    assert contents(root, prop) == before
    prop.damage(root)
    # Two of them are about what nobody damages.
    assert (contents(root, prop) != before) == (prop.name not in ("untouched", "git"))


@pytest.mark.slow
def test_a_faithful_tool_gets_a_yes_for_all_but_what_it_wrote_again(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ask(place, monkeypatch, Copy)
    assert {name for name, answer in answers.items() if answer != "yes"} == {"untouched"}
    assert len(answers) >= len(PROPERTIES) - 1


@pytest.mark.slow
def test_a_tool_that_does_nothing_gets_a_no(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ask(place, monkeypatch, Idle)
    assert {name for name, answer in answers.items() if answer == "yes"} == {"untouched", "git"}


@pytest.mark.slow
def test_what_a_tool_gives_up_on_does_not_spoil_the_rest(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ask(place, monkeypatch, Shy)
    assert answers["ignored"] == "fails"
    assert answers["link"] == "no"
    rest = {name: answer for name, answer in answers.items() if name not in ("ignored", "link", "untouched")}
    assert set(rest.values()) == {"yes"}


@pytest.mark.slow
def test_rewind_and_opencodes_sequence_are_asked_for_real(place: Workplace) -> None:
    rows = {row.name: row for row in ROWS}
    ours = rows["fidelity-rewind"].run(place)
    theirs = rows["fidelity-opencode"].run(place)
    assert isinstance(ours, Checks) and isinstance(theirs, Checks)
    assert [name for name, answer in ours.answers.items() if answer != "yes"] in ([], ["mtime"])
    assert theirs.answers["edited"] == theirs.answers["created"] == "yes"
    assert theirs.answers["ignored"] == theirs.answers["large"] == theirs.answers["empty"] == "no"


@pytest.mark.slow
def test_a_tool_that_is_not_here_is_skipped_with_the_reason(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Missing, match="tar is not installed"):
        TarZstd(place.spawner, place.root, place.root / "store")

    class Absent(Copy):
        def __init__(self, *_: object) -> None:
            raise Missing("absent is not installed")

    monkeypatch.undo()
    with pytest.raises(Skipped, match="absent is not installed"):
        ask(place, monkeypatch, Absent)
