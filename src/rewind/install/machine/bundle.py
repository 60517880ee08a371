"""Writing the package into one file, which `fast/bundle.py` reads."""

from __future__ import annotations
import __future__

import ast
import marshal
import os
from collections.abc import Iterator
from importlib.util import cache_from_source
from types import CodeType

from rewind.fast.bundle import ALONG, COMMAND_ROOTS, ERRORS, FOLDER, HEAD, PACKAGE, ROOTS, bundle_path

_PYC_HEAD = 16  # bytes before the code, in what Python compiles
_BASE = "RewindError"  # every caller needs it


def write_bundle(library: str) -> None:
    """Write what Python has compiled. The caller removes the file if this fails."""
    modules = dict(_modules(library))
    entries = [(name, FOLDER if _is_folder(source) else b"module", _compiled(name, source))
               for name, source in sorted(modules.items())]
    entries += [(f"{root}+", b"piece", piece) for roots in (ROOTS, COMMAND_ROOTS)
                for root, piece in _pieces(modules, roots)]
    lines, at = [b""], 0
    for name, kind, code in entries:
        lines.append(b"%s %s %d %d" % (name.encode(), kind, at, len(code)))
        at += len(code)
    index = b"\n".join([*lines, b""])
    begin = HEAD + len(index)
    with open(bundle_path(library), "xb") as file:
        for number in (begin, begin + at):
            file.write(number.to_bytes(8, "little"))
        file.write(index + b"".join(code for _, _, code in entries))


def _is_folder(source: str) -> bool:
    return os.path.basename(source) == "__init__.py"


def _pieces(modules: dict[str, str], roots: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The modules that are loaded before each root, except those that were loaded before an earlier one."""
    loaded: dict[str, None] = {}
    for root in roots:
        before = len(loaded)
        for one in (root, *ALONG.get(root, ())):
            if one not in loaded:
                _load_order(one, modules, loaded)
        names = [name for name in list(loaded)[before:] if name != root]
        codes = (marshal.loads(_compiled(name, modules[name])) for name in names)
        yield root, marshal.dumps([(name, _is_folder(modules[name]), code)
                                   for name, code in zip(names, codes)])


def _load_order(name: str, modules: dict[str, str], loaded: dict[str, None]) -> None:
    """Add what this module needs, then the module. There are no circular imports."""
    for other in _imported(name, modules):
        if other not in loaded:
            _load_order(other, modules, loaded)
    loaded[name] = None


def _imported(name: str, modules: dict[str, str]) -> list[str]:
    """The package above a module, and what the module imports as soon as it is loaded. An import in a
    condition, a `try` or a function is left to Python."""
    with open(modules[name], "rb") as file:
        body = ast.parse(file.read()).body
    found: dict[str, None] = {}
    for one in (name.rpartition(".")[0], *(named for statement in body for named in _named(statement))):
        parts = one.split(".")
        found.update(dict.fromkeys(".".join(parts[:count + 1]) for count in range(len(parts))))
    return [one for one in found if one in modules and one != name]


def _named(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        return [statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)]
    return []


def _modules(library: str) -> Iterator[tuple[str, str]]:
    """Each module's name and source."""
    for folder, _, names in os.walk(os.path.join(library, PACKAGE)):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                module = os.path.relpath(path, library)[:-len(".py")].replace(os.sep, ".")
                yield module[:-len(".__init__")] if name == "__init__.py" else module, path


def _compiled(name: str, source: str) -> bytes:
    if name == ERRORS:
        return marshal.dumps(_on_demand(source))
    with open(cache_from_source(source), "rb") as file:
        return file.read()[_PYC_HEAD:]


def _on_demand(source: str) -> CodeType:
    """The module with only the first of its classes. The others are kept as code and made on demand."""
    with open(source, "rb") as file:
        tree = ast.parse(file.read())
    classes = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name != _BASE]
    codes = {one.name: (_base_of(one), marshal.dumps(_code([one], source))) for one in classes}
    rest = [one for one in tree.body if one not in classes]
    last = ast.parse("from rewind.fast.bundle import on_demand\n"
                     f"__getattr__ = on_demand(globals(), {marshal.dumps(codes)!r})").body
    return _code([*rest, *last], source)


def _base_of(one: ast.ClassDef) -> str:
    (base,) = one.bases
    assert isinstance(base, ast.Name)
    return base.id


def _code(body: list[ast.stmt], source: str) -> CodeType:
    code: CodeType = compile(ast.Module(body, []), source, "exec", __future__.annotations.compiler_flag,
                             dont_inherit=True)
    return code
