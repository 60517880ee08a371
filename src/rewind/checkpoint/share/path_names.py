"""Names of files as they go from one machine to another: as text, and where two of them are one."""

from __future__ import annotations

from rewind.snapshot.trees.tree import FILES, LINK, UNCOVERED, TreeEntry


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def case_clashes(entries: dict[bytes, TreeEntry]) -> list[tuple[bytes, bytes]]:
    """Names of different things that are one name on many file systems, as `A` and `a`: a link by the one
    would lead what is written by the other elsewhere. Two files or two directories do no harm."""
    held = [name for name, entry in entries.items() if entry.kind != UNCOVERED]
    folded = {name: _folded(name) for name in held}
    if len(set(folded.values())) == len(folded):
        return []  # nearly always
    seen: dict[str, bytes] = {}
    found = []
    for name in sorted(held, key=lambda name: (entries[name].kind == LINK, name)):
        other = seen.setdefault(folded[name], name)
        if other != name and (entries[name].kind == LINK or _sort(entries[other]) != _sort(entries[name])):
            found.append((other, name))
    return found


def _folded(name: bytes) -> str:
    if name.isascii():
        return name.decode().lower()
    import unicodedata

    return unicodedata.normalize("NFC", text_of(name)).casefold()


def _sort(entry: TreeEntry) -> bytes:
    return FILES[0] if entry.kind in FILES else entry.kind
