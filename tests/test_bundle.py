"""The package in one file is the same package. Without that file, or with half of it, imports still work."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewind import errors
from rewind.fast.bundle import ALONG, COMMAND_ROOTS, ROOTS, bundle_path

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
    if name == "rewind.errors":  # its classes lie there one by one
        continue
    spec = bundle.find_spec(name)
    found = spec.loader_state
    path = sys.path[0] + "/" + name.replace(".", "/")
    path += "/__init__.py" if spec.submodule_search_locations else ".py"
    assert found == open(cache_from_source(path), "rb").read()[16:], name
    assert marshal.loads(found).co_filename == path, name
print("same")
""")
    assert out == "same"


def test_every_error_is_in_it_and_is_made_when_it_is_asked_for(library: Path) -> None:
    names = [one.__name__ for one in vars(errors).values() if isinstance(one, type)]
    assert len(names) > 90
    out = run(library, f"NAMES = {names}" + """
from rewind import errors
assert "TurnNotFound" not in vars(errors) and "SettingsNoFile" not in vars(errors)
for name in reversed(NAMES):  # a class before its base
    one = getattr(errors, name)
    assert one is getattr(errors, name) is vars(errors)[name]
    print(name, one.__bases__[0].__name__, one.__module__, one.exit_code, ascii(one.__doc__), ascii(one.hint))
""")
    for line, name in zip(out.splitlines(), reversed(names)):
        one = getattr(errors, name)
        base = one.__bases__[0].__name__
        assert line == f"{name} {base} {one.__module__} {one.exit_code} {one.__doc__!a} {one.hint!a}"
    assert len(out.splitlines()) == len(names)


def test_an_error_that_two_threads_ask_for_is_one_class(library: Path) -> None:
    assert run(library, """
import threading
from rewind import errors
sys.setswitchinterval(1e-6)
names = ("SettingsTooLong", "TurnNotFound", "NoSession", "PortTaken")
for name in names:
    found, ready = set(), threading.Barrier(8)
    def ask():
        ready.wait()
        found.add(getattr(errors, name))
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads: one.start()
    for one in threads: one.join()
    assert len(found) == 1, name
print("one")
""") == "one"


def test_an_error_that_does_not_exist_is_missed_as_in_any_module(library: Path) -> None:
    assert run(library, """
from rewind import errors
try:
    from rewind.errors import NoSuchError
except ImportError as error:
    print("ImportError", hasattr(errors, "NoSuchError"))
""") == "ImportError False"


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


LOADED = """
for name, module in sorted(sys.modules.items()):
    if name.startswith("rewind"):
        spec = module.__spec__
        above, _, last = name.rpartition(".")
        assert not above or getattr(sys.modules[above], last) is module, name
        print(name, module.__name__, module.__file__, module.__package__, spec.name, spec.parent,
              getattr(module, "__path__", None) and list(module.__path__), spec.submodule_search_locations)
"""


@pytest.mark.parametrize("roots", [ROOTS, COMMAND_ROOTS])
def test_what_is_loaded_in_one_piece_is_what_python_would_have_imported(
        library: Path, roots: tuple[str, ...]) -> None:
    plain = f"import sys; sys.path.insert(0, {str(library)!r})\nimport rewind.fast.bundle\n"
    along = [one for root in roots for one in ALONG.get(root, ())]
    loaded = f"import {', '.join([*roots, *along])}" + LOADED
    usual = subprocess.run([sys.executable, "-I", "-S", "-c", plain + loaded],
                           capture_output=True, text=True, check=True).stdout.strip()
    in_pieces = run(library, """
searched = []
find = type(sys.meta_path[0]).find_spec
type(sys.meta_path[0]).find_spec = lambda self, name, *more: searched.append(name) or find(self, name, *more)
""" + loaded + 'print(len([name for name in searched if name.startswith("rewind")]))')
    *found, searched = in_pieces.splitlines()
    assert found == usual.splitlines() and len(found) > 80
    assert int(searched) < 30


@pytest.mark.parametrize("root", [*ROOTS, *COMMAND_ROOTS])
def test_each_piece_can_be_the_first(library: Path, root: str) -> None:
    assert run(library, f"import {root} as m; print(m.__name__)") == root
