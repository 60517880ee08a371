"""The shape of the house: imports point down, and the core needs nothing but Python."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rewind"
RANKS = {
    "errors": -4, "sha256": -4,  # what rank 0 itself may use
    "files": -3, "quickjson": -3, "index": -2, "marker": -2, "work_tree": -1,
    "graph": 0, "paths": 0, "words": 0,
    "agents": 1, "config": 1,
    "transcript": 2, "store": 2,
    "snapshot": 3,
    "checkpoint": 4,
    "controller": 5, "hooks": 5, "install": 5,
    "cli": 6, "tui": 6, "web": 6,
}
ENTRIES = ("__init__", "__main__", "start")  # the package, and where a process begins
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first[:-3] if first.endswith(".py") else first


def imported_modules(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found.append(node.module or "")
            if node.module == "rewind":
                found += [f"rewind.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    if room in ENTRIES:
        return
    for name in imported_modules(path):
        parts = name.split(".")
        if parts[0] != "rewind" or len(parts) == 1 or parts[1] == "__version__":
            continue
        other = parts[1]
        assert other in RANKS, f"{path} imports {name}, which lives in no room"
        assert other == room or RANKS[other] < RANKS[room], f"{path} ({room}) imports {name}"


INTERFACES = ("cli", "tui", "web")
BELOW = [room for room, rank in RANKS.items() if 0 < rank < RANKS["controller"]]


def loaded_modules(path: Path) -> list[str]:
    """What a module imports when it runs; an import for types alone reaches nothing."""
    tree = ast.parse(path.read_text())
    typed = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If)
             and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
             for inner in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.ImportFrom):
            found += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p) in INTERFACES],
                         ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_interface_reaches_past_the_controller(path: Path) -> None:
    for name in loaded_modules(path):
        parts = name.split(".")
        assert parts[0] != "rewind" or len(parts) < 2 or parts[1] not in BELOW, f"{path} imports {name}"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr == "state":
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(
                owner, ast.Attribute) else ""
            assert "controller" not in name, f"{path}:{node.lineno} looks into the controller"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_starts_a_file_of_a_higher_room(path: Path) -> None:
    """A file that is started by its path is reached as much as one that is imported."""
    room = room_of(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "join"):
            continue
        values = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        words = [value for value in values if isinstance(value, str)]
        if words and words[-1].endswith(".py"):
            for word in words:
                assert RANKS.get(word, -1) <= RANKS.get(room, 9), f"{path}:{node.lineno} starts {words}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_core_uses_the_standard_library_only(path: Path) -> None:
    if room_of(path) in ("tui", "web"):
        return
    if not hasattr(sys, "stdlib_module_names"):
        pytest.skip("this Python does not list its modules")
    for name in imported_modules(path):
        top = name.split(".")[0]
        assert top == "rewind" or top in sys.stdlib_module_names, f"{path} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_library_is_silent(path: Path) -> None:
    if room_of(path) in ("cli", "tui", "web", *ENTRIES):
        return
    calls = [node.func.id for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not {"print", "input", "exit", "quit"} & set(calls)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))
