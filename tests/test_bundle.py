"""The package in one file is the same package. Without that file, or with half of it, imports still work."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewind.fast.bundle import ROOTS, bundle_path

FROM = "import rewind.hooks.handle as m; print(type(m.__spec__.loader).__name__, m.__file__)"


@pytest.fixture
def library(ready_library: Path) -> Path:
    return ready_library


def run(library: Path, code: str) -> str:
    start = (f"import sys; sys.path.insert(0, {str(library)!r})\n"
             f"from rewind.fast.bundle import use_bundle; use_bundle({str(library)!r})\n")
    return subprocess.run([sys.executable, "-I", "-S", "-c", start + code], capture_output=True, text=True,
                          check=True).stdout.strip()


def copy_of(library: Path, into: Path) -> tuple[Path, Path]:
    shutil.copytree(library, into / "lib-2")
    return into / "lib-2", Path(bundle_path(str(into / "lib-2")))


def test_an_installed_library_is_imported_from_its_one_file(library: Path) -> None:
    assert run(library, FROM) == f"_Bundle {library / 'rewind' / 'hooks' / 'handle.py'}"


def test_every_module_of_the_package_is_in_it_as_it_was_compiled(library: Path) -> None:
    names = sorted(".".join(path.relative_to(library).with_suffix("").parts).replace(".__init__", "")
                   for path in (library / "rewind").rglob("*.py"))
    assert len(names) > 500
    out = run(library, f"NAMES = {names}" + """
import marshal
from importlib.util import cache_from_source
bundle = sys.meta_path[0]
for name in NAMES:
    spec = bundle.find_spec(name)
    found = spec.loader_state
    path = sys.path[0] + "/" + name.replace(".", "/")
    path += "/__init__.py" if spec.submodule_search_locations else ".py"
    assert found == open(cache_from_source(path), "rb").read()[16:], name
    assert marshal.loads(found).co_filename == path, name
print("same")
""")
    assert out == "same"


def test_a_package_says_where_it_is_so_that_its_data_is_found(library: Path) -> None:
    out = run(library, "import rewind.agents as m; print(m.__path__, m.__file__)")
    assert out == f"['{library / 'rewind' / 'agents'}'] {library / 'rewind' / 'agents' / '__init__.py'}"


def test_other_names_are_left_to_python(library: Path) -> None:
    assert run(library, "bundle = sys.meta_path[0]\n"
                        "print(bundle.find_spec('json'), bundle.find_spec('rewind.nothing'),"
                        " bundle.find_spec('rewind_too'))") == "None None None"


@pytest.mark.parametrize("left", [None, 0, 5, 16, 20_000, 1_000_000])
def test_without_the_file_or_with_a_part_of_it_the_sources_are_imported(library: Path, tmp_path: Path,
                                                                        left: int | None) -> None:
    copy, bundle = copy_of(library, tmp_path)
    if left is None:
        bundle.unlink()
    else:
        bundle.write_bytes(bundle.read_bytes()[:left])
    assert run(copy, FROM) == f"SourceFileLoader {copy / 'rewind' / 'hooks' / 'handle.py'}"


def test_modules_are_still_found_when_all_descriptors_are_closed(library: Path) -> None:
    out = run(library, "import os; os.closerange(3, 50)\nimport rewind.checkpoint.save.save as m\n"
                       "print(type(m.__spec__.loader).__name__)")
    assert out == "_Bundle"


@pytest.mark.parametrize("how", ["other", "gone"])
def test_once_another_file_is_in_its_place_the_sources_are_imported(library: Path, tmp_path: Path,
                                                                    how: str) -> None:
    copy, bundle = copy_of(library, tmp_path)
    other = tmp_path / "other"
    other.write_bytes(b"x" * bundle.stat().st_size)
    change = {"other": f"os.replace({str(other)!r}, {str(bundle)!r})", "gone": f"os.unlink({str(bundle)!r})"}
    out = run(copy, f"import os; {change[how]}\nimport rewind.checkpoint.save.save as m\n"
                    "print(type(m.__spec__.loader).__name__)")
    assert out == "SourceFileLoader"


LOADED = f"import {', '.join(ROOTS)}" + """
for name, module in sorted(sys.modules.items()):
    if name.startswith("rewind"):
        spec = module.__spec__
        above, _, last = name.rpartition(".")
        assert not above or getattr(sys.modules[above], last) is module, name
        print(name, module.__name__, module.__file__, module.__package__, spec.name, spec.parent,
              getattr(module, "__path__", None) and list(module.__path__), spec.submodule_search_locations)
"""


def test_what_is_loaded_in_one_piece_is_what_python_would_have_imported(library: Path) -> None:
    plain = f"import sys; sys.path.insert(0, {str(library)!r})\n"
    usual = subprocess.run([sys.executable, "-I", "-S", "-c", plain + "import rewind.fast.bundle\n" + LOADED],
                           capture_output=True, text=True, check=True).stdout.strip()
    in_pieces = run(library, """
searched = []
find = type(sys.meta_path[0]).find_spec
type(sys.meta_path[0]).find_spec = lambda self, name, *more: searched.append(name) or find(self, name, *more)
""" + LOADED + 'print(len([name for name in searched if name.startswith("rewind")]))')
    *found, searched = in_pieces.splitlines()
    assert found == usual.splitlines() and len(found) > 80
    assert int(searched) < 30


@pytest.mark.parametrize("root", ROOTS)
def test_each_piece_can_be_the_first(library: Path, root: str) -> None:
    assert run(library, f"import {root} as m; print(m.__name__)") == root
