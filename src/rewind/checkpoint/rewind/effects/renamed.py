"""The effect of renaming a fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.rename_fork import write_title
from rewind.checkpoint.rewind.effects.kind import EffectKind, EffectsResult

if TYPE_CHECKING:
    from rewind.checkpoint.log.line import Effect
    from rewind.checkpoint.project.state import State


class Rename(EffectKind):
    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        turned: Effect = {**effect}
        if "after" in effect:
            turned["before"], turned["after"] = effect["after"], effect.get("before")
        if "titleAfter" in effect:
            turned["titleBefore"], turned["titleAfter"] = effect["titleAfter"], effect.get("titleBefore")
        return turned

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        return [f"Would rename the fork to \"{effect.get('after') or ''}\": {effect.get('sessionId')}"]

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        state.forks().change(str(effect["sessionId"]), {"name": effect.get("after")})
        note = write_title(state, effect)
        done.notes += [note] if note else []
        return effect
