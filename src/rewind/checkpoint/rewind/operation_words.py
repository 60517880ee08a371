"""Operations in words, the same in every interface."""

from __future__ import annotations

from rewind.checkpoint.operation_log import operations as ops
from rewind.words import plural, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.operation_log.operations import Operation


_LONGEST = 60  # characters of a prompt


def describe(op: Operation, by_id: dict[str, Operation] | None = None, longest: int = _LONGEST) -> str:
    """What an operation did, as a predicate: 'went back to before "Please clean up"'."""
    known = by_id or {}
    if op.command == ops.UNDO_RESTORE:
        return f"undid: {_steps(op.undoes, known, longest)}"
    if op.command == ops.REDO:
        return _redo(known.get(op.redoes), known, longest)
    if op.command == ops.BACK:
        return _back(op, longest)
    about = _DESCRIBE.get(op.command)
    return about(op) if about else op.command


def intention(undoes: list[Operation], redoes: Operation | None, by_id: dict[str, Operation]) -> str:
    """Which operations an `undo-restore` or a `redo` would reverse; empty for other commands."""
    if redoes and redoes.command == ops.UNDO:
        return f"Would reverse: {describe(redoes, by_id)}"
    verb, ids = ("redo", redoes.undoes) if redoes else ("undo", [op.id for op in undoes])
    return f"Would {verb}: {_steps(ids, by_id, _LONGEST)}" if ids else ""


def _steps(ids: list[str], known: dict[str, Operation], longest: int) -> str:
    steps = [known[id] for id in ids if id in known]
    return describe(steps[0], known, longest) if len(steps) == 1 else plural(len(ids), "operation")


def _redo(undo: Operation | None, known: dict[str, Operation], longest: int) -> str:
    if undo is None:
        return "reversed an undo"
    if undo.command == ops.UNDO_RESTORE:
        return f"redid: {_steps(undo.undoes, known, longest)}"
    return f"reversed: {describe(undo, known, longest)}"


def _restore(op: Operation) -> str:
    if not op.checkpoint:
        return f"restored the conversation of {op.begun.get('session') or 'a session'}"
    if op.paths:
        return f"restored {plural(len(op.paths), 'path')} from {op.checkpoint}"
    return f"restored {op.checkpoint}"


def _back(op: Operation, longest: int) -> str:
    prompt = op.begun.get("prompt")
    known = isinstance(prompt, str) and prompt
    where = f"before {quoted(str(prompt), longest)}" if known else "the end of a turn"
    return f"went back to {where}" + ("" if op.checkpoint else " (conversation only)")


def _fork(op: Operation) -> str:
    effect = op.effects[0] if op.effects else {}
    if op.command == ops.RENAME:
        return f"renamed fork {effect.get('sessionId')} to {quoted(str(effect.get('after') or ''))}"
    name = _directory(op).get("name") or op.begun.get("session")
    return f"{'deleted' if op.command == ops.DELETE else 'brought back'} fork {name}"


def _directory(op: Operation) -> Effect:
    """The effect on the directory of a fork, if the fork has one."""
    return next((one for one in op.effects if one.get("dir")), None) or {}


def _merge(op: Operation) -> str:
    about = str(op.begun.get("about") or "a change")
    return f"{_MERGED[op.command]} {about}"


def _future(op: Operation) -> str:
    prompt = op.begun.get("prompt")
    before = f"before {quoted(prompt)}" if isinstance(prompt, str) and prompt else op.checkpoint
    return f"began here as a fork from {before}"


_MERGED = {ops.REVERT: "reverted", ops.APPLY: "applied", ops.ADOPT: "adopted"}
_DESCRIBE = {
    ops.REVERT: _merge, ops.APPLY: _merge, ops.ADOPT: _merge, ops.FUTURE: _future,
    ops.RESTORE: _restore, ops.UNDO: lambda op: f"stepped back to {op.checkpoint}",
    ops.FORWARD: lambda op: f"fast-forwarded to {op.checkpoint}",
    ops.BISECT: lambda op: "bisected in the project itself",
    ops.RENAME: _fork, ops.DELETE: _fork, ops.UNDELETE: _fork,
}


_FINISH = {ops.DELETE: "forks remove", ops.UNDELETE: "forks undelete"}  # for a fork with a directory


def finish_command(op: Operation) -> str:
    """The command that finishes an interrupted operation; empty if there is none."""
    if op.command in (ops.UNDO, ops.REDO, ops.UNDO_RESTORE):
        return f"rewind {op.command}"
    if op.command == ops.BISECT:
        return ""  # it can only be undone
    if op.checkpoint:
        return f"rewind restore {op.checkpoint}"
    if op.command in _FINISH and _directory(op):
        return f"rewind {_FINISH[op.command]} {_directory(op).get('name')}"
    return _same_command(op.begun.get("request"))


def _same_command(request: object) -> str:
    """The command that asked for the conversation alone, from the request in the log."""
    if not isinstance(request, list) or len(request) != 5 or not isinstance(request[1], list):
        return ""
    kind, asked = request[0], {str(name): value for name, value in request[1]}
    end = " --in-place" if request[4] else ""
    if kind == "BeforePrompts":
        session = f" --session {asked['session']}" if asked.get("session") else ""
        return f"rewind back {asked.get('n', 1)}{session}{end}"
    return f"rewind restore {asked.get('name')} --context-only{end}" if kind == "AtCheckpoint" else ""


def interrupted_text(op: Operation) -> str:
    what = f"`rewind {op.command}`" + (f" to {op.checkpoint}" if op.checkpoint else "")
    undo = "" if op.command == ops.UNDO_RESTORE else " To undo it: rewind undo-restore."
    finish = finish_command(op)
    return f"{what} was interrupted.{undo}" + (f" To finish it: {finish}" if finish else "")
