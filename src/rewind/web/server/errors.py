"""Errors as the page gets them: a status, and an object with code, message and what to do next."""

from __future__ import annotations

from rewind.errors import CHANGED, LOCKED, NOT_FOUND, USAGE, RewindError
from rewind.words import explain_os_error

_STATUS = {USAGE: 400, NOT_FOUND: 404, CHANGED: 409, LOCKED: 409}
# For errors whose hint names an option of the command line.
_HINTS = {
    "changed-since-plan": "Look at the plan again, then confirm it.",
    "turn-running": "Wait until it is done, or stop it.",
    "session-in-use": "Close it first.",
    "session-not-found": "Reload the page to see the sessions there are.",
    "checkpoint-not-found": "Reload the page to see the checkpoints there are.",
    "path-not-found": "Choose one of its files.",
    "usage-error": "Reload the page and try again.",
}


def status_of(error: RewindError) -> int:
    return _STATUS.get(error.exit_code, 422 if error.exit_code == 1 else 500)


def body_of(error: RewindError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "hint": _HINTS.get(error.code, error.hint)}


def as_rewind_error(error: Exception) -> RewindError:
    """Any exception as a `RewindError`. No traceback reaches the page."""
    if isinstance(error, RewindError):
        return error
    if isinstance(error, OSError):
        message, hint = explain_os_error(error)
        found = RewindError(message, hint=hint)
    else:
        found = RewindError(f"This is a bug in Rewind ({type(error).__name__}).",
                            hint="The terminal in which `rewind ui` runs shows the details.")
    found.exit_code = 70
    return found
