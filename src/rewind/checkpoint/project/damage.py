"""`damage.json`: damage that `validate --deep` found and that nothing could repair.

The file exists only while something is damaged. An object that it names counts as not stored: the next
checkpoint with the same content stores it again, and the mark is removed.
"""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.jsonfile import JsonObject

FORMAT = 1
_MAX_BYTES = 64 << 20
_MOST_PATHS = 1000  # named for each checkpoint; the others are only counted


class MissingContent:
    """What a checkpoint lacks: paths (a directory stands for everything in it), and what is wrong with its
    conversation."""

    def __init__(self, files: int, paths: list[bytes], conversation: str = "") -> None:
        self.files = files
        self.paths = paths[:_MOST_PATHS]
        self.conversation = conversation

    def __bool__(self) -> bool:
        return bool(self.files or self.conversation)

    @property
    def text(self) -> str:
        """`2 files missing`, for people."""
        parts = [f"{plural(self.files, 'file')} missing"] if self.files else []
        return ", ".join(parts + (["conversation missing"] if self.conversation else []))


class Damage:
    def __init__(self, path: str) -> None:
        self.path = path
        self.objects: set[bytes] = set()
        self.checkpoints: dict[str, MissingContent] = {}
        try:
            data = jsonfile.read_or_empty(path, _MAX_BYTES)
            self.objects = {bytes.fromhex(oid) for oid in data["objects"]}
            self.checkpoints = {str(name): _missing_from_json(missing)
                                for name, missing in data["checkpoints"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # `validate` finds the damage again

    def save(self) -> None:
        if not self.objects and not self.checkpoints:
            if os.path.lexists(self.path):
                os.unlink(self.path)
            return
        marks = {name: {"files": missing.files, "chat": missing.conversation,
                       "paths": [p.decode("utf-8", "surrogateescape") for p in missing.paths]}
                for name, missing in sorted(self.checkpoints.items())}
        jsonfile.write(self.path, {"format": FORMAT, "objects": sorted(oid.hex() for oid in self.objects),
                                   "checkpoints": marks})


def _missing_from_json(data: JsonObject) -> MissingContent:
    paths = [str(p).encode("utf-8", "surrogateescape") for p in data["paths"]]
    return MissingContent(int(data["files"]), paths, str(data["chat"]))
