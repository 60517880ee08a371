"""What a future needs besides a checkpoint: installed packages and the like, which no checkpoint holds."""

from __future__ import annotations

import os
import shutil

from rewind.checkpoint.turns.bisect.scratch import leads_back, needed
from rewind.transcript.write.copying import copy_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.futures.make import Future
    from rewind.checkpoint.project.state import State

LINK = "link"  # else: copy


def carry(state: State, future: Future, bring: str) -> None:
    """An environment whose packages lead back to the project is neither linked nor copied: whoever used it
    would run the project's code and not the fork's."""
    for path in needed(state):
        name = os.fsdecode(path)
        if leads_back(state, path):
            future.leads_back.append(name)
        elif bring and _bring(os.path.join(state.project.root, name), os.path.join(future.dir, name), bring):
            future.carried.append(name)
        else:
            future.missing.append(name)


def _bring(source: str, target: str, bring: str) -> bool:
    above = os.path.dirname(target)
    if os.path.lexists(target) or not os.path.isdir(above) or os.path.realpath(above) != above:
        return False
    if bring == LINK:
        os.symlink(source, target)
    elif os.path.isdir(source) and not os.path.islink(source):
        shutil.copytree(source, target, symlinks=True, copy_function=_copy)
    else:
        _copy(source, target)
    return True


def _copy(source: str, target: str) -> None:
    """By the kernel, which shares the blocks where the file system can."""
    if os.path.islink(source) or not os.path.isfile(source):
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        return
    with open(source, "rb") as read, open(target, "xb") as write:
        copy_range(read, 0, os.fstat(read.fileno()).st_size, write.fileno())
    shutil.copystat(source, target)
