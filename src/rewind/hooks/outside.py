"""Files outside the project that an edit is about: a checkpoint is made for each that the newest has not."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.outside import kept_outside, may_be_kept
from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.paths import Project


def _is_own(path: str) -> bool:
    """What belongs to another user is none of our business; what is not there yet will be this user's."""
    try:
        return os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return True


def outside_files_to_keep(project: Project, paths: list[str], *, anyway: bool) -> list[str]:
    """Of these real paths, those to keep; `anyway`: a checkpoint is made whatever they are."""
    found = [path for path in dict.fromkeys(paths) if may_be_kept(project, path) and _is_own(path)]
    if anyway or not found:
        return found
    state = State(project, forgiving=True)
    try:
        newest = state.timeline.newest()
        # What the newest checkpoint kept is what the file held then: no other one is between.
        held = {one.path for one in kept_outside(newest)} if newest else set()
        return [path for path in found if path.encode("utf-8", "surrogateescape") not in held]
    except RewindError:
        return found
    finally:
        state.close()
