"""Whether an event is worth a checkpoint: a pure function."""

from __future__ import annotations

from rewind.hooks.event import EDIT, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.config.load import Settings, Tier
    from rewind.hooks.event import HookEvent
    from rewind.hooks.memory.hook_state import HookState

_ALWAYS = ("UserPromptSubmit", "Stop")  # they make `back --both` exact
_SHORT = 72


class Decision:
    """`skip_reason`: why no checkpoint is made. `save_unprotected`: one is made all the same if no checkpoint
    holds the file that is about to be edited."""

    __slots__ = ("checkpoint", "description", "save_unprotected", "skip_reason")

    def __init__(self, checkpoint: bool, skip_reason: str = "", *, save_unprotected: bool = False,
                 description: str = "") -> None:
        self.checkpoint = checkpoint
        self.skip_reason = skip_reason
        self.save_unprotected = save_unprotected
        self.description = description


def decide(event: HookEvent, state: HookState, settings: Settings, tier: Tier,
           now: float, *, known_session: bool) -> Decision:
    """`known_session`: this conversation has a checkpoint already; `tier` is the tier's file."""
    if event.key() and event.key() in state.seen:
        return Decision(False, "this event was seen before")
    if event.name == "UserPromptSubmit" and event.is_machine_prompt:
        return Decision(False, "a machine's prompt")
    if not is_registered(event, tier):
        return Decision(False, "this tier makes no checkpoint here")
    if event.continues_session and known_session:
        return Decision(False, "this conversation has a checkpoint already")
    if event.name not in _ALWAYS:
        skip_reason = _skip_reason(event, state, settings, now)
        if skip_reason:
            return Decision(False, skip_reason, save_unprotected=event.is_coming_edit,
                            description=describe(event, state))
    return Decision(True, description=describe(event, state))


def is_registered(event: HookEvent, tier: Tier) -> bool:
    """Whether the tier wants a checkpoint for this event, and for this kind of tool."""
    for entry in tier["hooks"].get(event.name, ()):
        if entry["checkpoint"] and entry.get("tools") in (None, event.tool_kind):
            return True
    return False


def _skip_reason(event: HookEvent, state: HookState, settings: Settings, now: float) -> str:
    if event.name == "SessionStart":
        return ""
    if (event.tool_kind == EDIT and settings.get("runtime.significance.enabled")
            and event.change_size() < settings.get("runtime.significance.minChangeSize")):
        return "a small edit"
    distance = now - state.last_checkpoint
    # If the clock was set back, checkpoints do not wait until it has caught up.
    if (settings.get("runtime.antiSpam.enabled")
            and 0 <= distance < settings.get("runtime.antiSpam.minIntervalSeconds")):
        return "the last checkpoint was a moment ago"
    return ""


def describe(event: HookEvent, state: HookState) -> str:
    """A few words for the list of checkpoints."""
    when = "After" if event.name in ("PostToolUse", "Stop") else "Before"
    if event.name == "SessionStart":
        return "Session began" if event.source in ("", "startup") else f"Session ({event.source})"
    if event.name == "UserPromptSubmit":
        return _short(f"{when}: {event.prompt}")
    if event.name == "Stop":
        prompt = state.prompts.get(event.session)
        return _short(f"{when}: {prompt}" if prompt else "Turn ended")
    if event.tool_kind == SHELL:
        return _short(f"{when} running {event.command}")
    files = event.files()
    where = f" of {files[0].rpartition('/')[2]}" if files else ""
    return _short(f"{when} {event.tool}{where}")


def _short(text: str) -> str:
    text = " ".join(text[:_SHORT * 4].split())
    return text if len(text) <= _SHORT else text[:_SHORT - 1] + "…"
