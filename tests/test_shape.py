"""The shape of the house: imports point down, and the core needs nothing but Python."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rewind"
RANKS = {
    "errors": -6, "fast": -6, "processes": -6,  # what rank 0 itself may use
    "files": -5, "lock": -4, "jsonfile": -3, "index": -2, "project_marker": -2, "work_tree": -1,
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


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported_modules(path: Path) -> list[str]:
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found.append(node.module or "")
            if node.module == "rewind":
                found += [f"rewind.{alias.name}" for alias in node.names]
    return found


def test_imports_point_down() -> None:
    assert not [f"{path} imports {name}" for path in MODULES if room_of(path) not in ENTRIES
                for name in imported_modules(path) if not _points_down(room_of(path), name)]


# The folders of a room. Each uses only those before it; those of one line may use each other. Files beside
# the folders may use all of them, and no folder uses such a file.
FOLDERS = {
    "snapshot": ("trees", "diff", "merge", "rules", "scan watchman", "apply", "archive git"),
    "checkpoint": ("records operation_log project", "conversations", "upkeep", "save", "changes select",
                   "futures/known", "rewind", "turns", "futures share", "map remote repair", "search"),
    "web": ("render", "reads", "writes", "server"),
}
# Whoever lets a lock go asks which damaged checkpoints are whole again.
LEADS_UP = {("checkpoint/project/locked.py", "rewind.checkpoint.repair.check_records")}


def test_folders_of_a_room_use_only_those_before_them() -> None:
    assert not [f"{path} imports {name}" for path in MODULES if room_of(path) in FOLDERS
                for name in set(imported_modules(path)) if not _comes_before(path, name)]


def _comes_before(path: Path, name: str) -> bool:
    room, inside = room_of(path), path.relative_to(SOURCE)
    parts = name.split(".")
    if parts[:2] != ["rewind", room] or len(parts) == 2 or (str(inside), name) in LEADS_UP:
        return True
    return _place_of(room, "/".join(parts[2:])) <= _place_of(room, "/".join(inside.with_suffix("").parts[1:]))


def _place_of(room: str, name: str) -> int:
    order = {folder: at for at, line in enumerate(FOLDERS[room]) for folder in line.split()}
    found = [folder for folder in order if f"{name}/".startswith(f"{folder}/")]
    return order[max(found, key=len)] if found else len(order)


def test_every_folder_has_its_place() -> None:
    known = {f"{room}/{folder.split('/')[0]}" for room, lines in FOLDERS.items()
             for line in lines for folder in line.split()}
    there = {"/".join(path.relative_to(SOURCE).parts[:2]) for path in MODULES
             if room_of(path) in FOLDERS and len(path.relative_to(SOURCE).parts) > 2}
    assert there == known


def _points_down(room: str, name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "rewind" or len(parts) == 1 or parts[1] == "__version__":
        return True
    other = parts[1]
    return other in RANKS and (other == room or RANKS[other] < RANKS[room])


INTERFACES = ("cli", "tui", "web")
BELOW = [room for room, rank in RANKS.items() if 0 < rank < RANKS["controller"]]


def running_nodes(path: Path) -> Iterator[ast.AST]:
    """All but what is there for types alone, which reaches nothing."""
    tree = parsed(path)
    typed = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If)
             and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
             for inner in ast.walk(node)}
    return (node for node in ast.walk(tree) if id(node) not in typed)


def loaded_modules(path: Path) -> list[str]:
    """What a module imports when it runs."""
    found = []
    for node in running_nodes(path):
        if isinstance(node, ast.ImportFrom):
            found += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def test_no_imports_lead_in_a_circle() -> None:
    """Also not those inside functions, nor those for types alone."""
    modules = {_name_of(path): path for path in MODULES if room_of(path) not in ENTRIES}
    targets = {name: {found for found in _targets(path, modules) if found != name}
               for name, path in modules.items()}
    assert not list(_circles(targets))


def _targets(path: Path, modules: Container[str]) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:  # a module of a package, or something in a module
                inner, outer = f"{node.module}.{alias.name}", node.module or ""
                yield from [name for name in (inner, outer) if name in modules][:1]


def _name_of(path: Path) -> str:
    parts = ("rewind", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _circles(targets: dict[str, set[str]]) -> Iterator[str]:
    """What is left when all that leads out is taken away, and all that only leads in."""
    leads_back = _without_ends(targets)
    led_to = _without_ends({name: {one for one in leads_back if name in leads_back[one]}
                            for name in leads_back})
    for name in sorted(led_to):
        yield f"{name} imports {', '.join(sorted(leads_back[name] & led_to.keys()))}"


def _without_ends(targets: dict[str, set[str]]) -> dict[str, set[str]]:
    ends = {name for name, found in targets.items() if not found}
    if not ends:
        return targets
    return _without_ends({name: found - ends for name, found in targets.items() if name not in ends})


def test_no_interface_reaches_past_the_controller() -> None:
    assert not [found for path in MODULES if room_of(path) in INTERFACES for found in _reaches_past(path)]


def _reaches_past(path: Path) -> Iterator[str]:
    for name in loaded_modules(path):
        parts = name.split(".")
        if parts[0] == "rewind" and len(parts) > 1 and parts[1] in BELOW:
            yield f"{path} imports {name}"
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and node.attr == "state":
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(
                owner, ast.Attribute) else ""
            if "controller" in name:
                yield f"{path}:{node.lineno} looks into the controller"


FOR_TYPES_ALONE = ["rewind.agents.profile_sections"]


def test_what_is_there_for_types_alone_is_not_loaded() -> None:
    assert not [f"{path} imports {name}" for path in MODULES for name in loaded_modules(path)
                if name in FOR_TYPES_ALONE]


# What no hook passes, nor a command that is run all day: there `typing` may be loaded.
MAY_TAKE_LONGER = (
    "install", "tui", "web", "checkpoint/futures", "checkpoint/remote", "checkpoint/repair",
    "checkpoint/share", "checkpoint/turns", "cli/branch", "cli/demo", "cli/give", "cli/maintain",
    "cli/plugin", "snapshot/merge",
)


def test_tricks_for_a_quick_start_are_only_where_they_are_needed() -> None:
    assert not [f"{path} has one" for path in MODULES if "\nTYPE_CHECKING = False" in path.read_text()
                for folder in MAY_TAKE_LONGER if SOURCE / folder in path.parents]


def test_nothing_starts_a_file_of_a_higher_room() -> None:
    """A file that is started by its path is reached as much as one that is imported."""
    assert not [found for path in MODULES for found in _starts_higher(path)]


def _starts_higher(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "join"):
            continue
        values = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        words = [value for value in values if isinstance(value, str)]
        if words and words[-1].endswith(".py") and any(
                RANKS.get(word, -1) > RANKS.get(room_of(path), 9) for word in words):
            yield f"{path}:{node.lineno} starts {words}"


@pytest.mark.skipif(not hasattr(sys, "stdlib_module_names"), reason="this Python does not list its modules")
def test_the_core_uses_the_standard_library_only() -> None:
    known = {"rewind", *getattr(sys, "stdlib_module_names", ())}
    assert not [f"{path} imports {name}" for path in MODULES if room_of(path) not in ("tui", "web")
                for name in imported_modules(path) if name.split(".")[0] not in known]


def test_the_library_is_silent() -> None:
    assert not [f"{path}:{node.lineno} calls {node.func.id}" for path in MODULES
                if room_of(path) not in (*INTERFACES, *ENTRIES) for node in ast.walk(parsed(path))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id in ("print", "input", "exit", "quit")]


def test_a_module_says_what_it_is_for() -> None:
    assert not [str(path) for path in MODULES if not ast.get_docstring(parsed(path))]


def test_all_errors_are_in_one_place_and_in_its_tree() -> None:
    """A class whose ancestors lead to `RewindError` is what a user may meet."""
    errors = {"RewindError"}
    homes = {}
    for _ in range(3):  # ancestors first, wherever they are
        for path in MODULES:
            for node in parsed(path).body:
                if isinstance(node, ast.ClassDef) and {
                        base.id for base in node.bases if isinstance(base, ast.Name)} & errors:
                    errors.add(node.name)
                    homes[node.name] = room_of(path)
    assert set(homes.values()) == {"errors"}, {name: home for name, home in homes.items() if home != "errors"}
    tree = (ast.get_docstring(parsed(SOURCE / "errors.py")) or "").replace(",", " ").split()
    assert not [name for name in homes if name != "UsageError" and tree.count(name) != 1]


def test_a_folder_is_read_at_a_glance() -> None:
    """About a dozen files side by side; beyond that, folders that say what a person would ask for."""
    sizes = {folder: len(list(folder.glob("*.py"))) for folder in {path.parent for path in MODULES}}
    assert not {str(folder): size for folder, size in sizes.items() if size > 15}
