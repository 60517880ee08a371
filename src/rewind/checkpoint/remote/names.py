"""Names of refs, and of paths in the repository. Names that mean something to git, such as `.gitmodules`, are
escaped with `%` and two digits. So git ignores them, and does not reject them when it checks a fetch."""

from __future__ import annotations

from rewind.checkpoint.remote.known import is_writer

TOP = b"files/"
META, CHANGES = b"meta.json", b"changes.jsonl"
CHECKPOINTS, CONVERSATIONS = "checkpoints", "conversations"
# Characters that macOS ignores in a name, so that a name with them may be one of git's.
_INVISIBLE = (b"\xe2\x80", b"\xe2\x81", b"\xef\xbb\xbf")
_GITS = (b".git", b"git~", b".mailmap")
_IN_QUOTES = {ord('"'): b'\\"', ord("\\"): b"\\\\"}


def own_ref(writer: str, what: str) -> str:
    return f"refs/rewind/{writer}/{what}"


def tracking_ref(remote: str, name: str) -> str:
    """The ref in our repository that remembers a ref of a remote."""
    return f"refs/rewind/remotes/{remote}/{name[len('refs/rewind/'):]}"


def parse_ref(name: str) -> tuple[str, str] | None:
    """(writer, what) of a ref on a remote, or None for one that is not ours."""
    parts = name.split("/")
    if len(parts) != 4 or parts[:2] != ["refs", "rewind"]:
        return None
    return (parts[2], parts[3]) if is_writer(parts[2]) and parts[3] in (CHECKPOINTS, CONVERSATIONS) else None


def writer_of(name: str) -> str:
    """The writer in the name of a ref that `parse_ref` accepts."""
    return name.split("/")[2]


def tracked_in(refs: dict[str, str], remote: str) -> dict[str, str]:
    """What a remote had at the last push or pull, by the names that the refs have there."""
    prefix = f"refs/rewind/remotes/{remote}/"
    return {f"refs/rewind/{name[len(prefix):]}": commit for name, commit in refs.items()
            if name.startswith(prefix)}


def path_in_git(path: bytes) -> bytes:
    """The place of a project's path in a commit."""
    return TOP + b"/".join(map(_part, path.split(b"/")))


def _part(name: bytes) -> bytes:
    plain = name.replace(b"%", b"%25").replace(b"\n", b"%0A")
    if name.lower().startswith(_GITS) or any(mark in name for mark in _INVISIBLE):
        return b"%%%02X" % plain[0] + plain[1:]
    return plain


def quoted(path: bytes) -> bytes:
    """As `git fast-import` reads a path."""
    return b'"' + b"".join(_IN_QUOTES.get(byte) or bytes((byte,)) for byte in path) + b'"'
