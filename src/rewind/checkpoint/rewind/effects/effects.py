"""Functions for effects of any kind: find their inverses, preview them, and do them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.checkpoint.operation_log.operations import FORK
from rewind.checkpoint.rewind.effects.directory import Mkdir, Rmdir
from rewind.checkpoint.rewind.effects.fork import Fork, Rename, Trash, Untrash
from rewind.checkpoint.rewind.effects.kind import (
    MKDIR,
    OUTSIDE,
    RENAME,
    REWRITE,
    RMDIR,
    SWAP,
    TRASH,
    UNTRASH,
    EffectKind,
    EffectsResult,
)
from rewind.checkpoint.rewind.effects.outside import OutsideFiles
from rewind.checkpoint.rewind.effects.rewritten import Rewrite, Swap
from rewind.errors import SessionInUse

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.state import State

_KINDS: dict[str, EffectKind] = {
    FORK: Fork(), TRASH: Trash(), UNTRASH: Untrash(), REWRITE: Rewrite(), SWAP: Swap(), RENAME: Rename(),
    RMDIR: Rmdir(), MKDIR: Mkdir(), OUTSIDE: OutsideFiles()}
_UNKNOWN = EffectKind()  # for an invalid log


def _kind(effect: Effect) -> EffectKind:
    return _KINDS.get(effect.get("kind", ""), _UNKNOWN)


def inverses(state: State, effects: list[Effect]) -> list[Effect]:
    """The effects that undo these, in reverse order."""
    found: list[Effect] = []
    for effect in reversed(effects):
        turned = _kind(effect).inverse(state, effect, found)
        if turned:
            found.append(turned)
    return found


def was_done(effect: Effect) -> bool:
    return _kind(effect).was_done(effect)


def is_worth_undoing(state: State, effect: Effect) -> bool:
    return _kind(effect).is_worth_undoing(state, effect)


def check(state: State, effects: list[Effect], force: bool) -> None:
    """Refuse effects before anything is changed."""
    for effect in effects:
        reason = _kind(effect).why_refused(state, effect)
        if reason and not force:
            raise SessionInUse(reason=reason, hint="Close it first. With --force its whole history may be"
                                                   " lost when that client continues.")


def preview_notes(state: State, effects: list[Effect]) -> list[str]:
    """What doing them would do, in words."""
    return [text for effect in effects for text in _kind(effect).preview_notes(state, effect)]


def do(state: State, effects: list[Effect], done: EffectsResult) -> None:
    for effect in effects:
        logged = _kind(effect).do(state, effect, done)
        if logged:
            done.effects.append(logged)
