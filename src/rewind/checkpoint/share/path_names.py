"""Names of files for other machines: as text, and which of them clash on other file systems."""

from __future__ import annotations

from rewind.snapshot.trees.tree import FILES, LINK, UNCOVERED, TreeEntry


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def case_clashes(entries: dict[bytes, TreeEntry]) -> list[tuple[bytes, bytes]]:
    """Pairs of names, such as `A` and `a`, that are the same on many file systems. If one is a link, what is
    written under the other would go elsewhere. Two files or two directories do no harm."""
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
