"""The errors a user can meet: what is wrong, what to do next, and the exit code.

The message is the class's docstring, filled in with the keyword arguments.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
USAGE = 2
PARTIAL = 3
NOT_INITIALISED = 10
LOCKED = 11
NOT_FOUND = 12
CHANGED = 13
DAMAGED = 20
BUG = 70
INTERRUPTED = 130


class RewindError(Exception):
    """{message}"""

    exit_code = FAILED
    hint = ""

    def __init__(self, message: str = "", hint: str | None = None, **fields: object) -> None:
        self.fields = fields
        self.message = (self.__doc__ or "").format(message=message, **fields)
        self.hint = type(self).hint.format(**fields) if hint is None else hint
        self.word = ""  # what was typed,
        self.near: list[tuple[str, str]] = []  # and what may have been meant: (selector, what it is)
        super().__init__(self.message)

    def near_to(self, word: str, near: list[tuple[str, str]]) -> None:
        """The interface shows these as commands to copy."""
        self.word, self.near = word, near

    @property
    def code(self) -> str:
        """The class name in kebab case: the stable name of this error in JSON."""
        name = type(self).__name__
        return "".join("-" + c.lower() if c.isupper() and i else c.lower()
                       for i, c in enumerate(name))


class UsageError(RewindError):
    """{message}"""

    exit_code = USAGE
    hint = "Run `rewind help` to see the commands."


class NotInitialised(RewindError):
    """This directory is not protected by Rewind yet: {path}"""

    exit_code = NOT_INITIALISED
    hint = "Run `rewind init` in the project's top directory."


class StoreNotTrusted(RewindError):
    """The checkpoints in {path} were not made by you on this machine, so they are not used."""

    exit_code = FAILED
    hint = "If you know where they come from, run `rewind init --trust`."


class HomeUnreadable(RewindError):
    """Rewind cannot read {path}: {reason}"""

    exit_code = FAILED
    hint = "Make it yours again: sudo chown -R \"$(id -un)\" ~/.rewind"


class StoreMoved(RewindError):
    """The checkpoints are not in {path} any more."""

    exit_code = CHANGED
    hint = "Another process has moved or removed them. Try again."


class Locked(RewindError):
    """Another Rewind process is at work here: {holder}"""

    exit_code = LOCKED
    hint = "Wait for it to finish and try again."


class CheckpointNotFound(RewindError):
    """No checkpoint matches "{name}"."""

    exit_code = NOT_FOUND
    hint = "Run `rewind list --all` to see the names."


class NoConversation(RewindError):
    """{checkpoint} holds no conversation."""

    hint = "Restore its code alone with --code-only."


class CheckpointAmbiguous(RewindError):
    """{count} checkpoints begin with "{name}"."""

    exit_code = NOT_FOUND
    hint = "Type more of the name. To see all names: rewind list --all"


class PromptAmbiguous(RewindError):
    """{count} prompts or descriptions contain "{text}"."""

    exit_code = NOT_FOUND
    hint = "Type more of the text, or search with `rewind grep`."


class CheckpointNeeded(RewindError):
    """Not deleting {name}: {reason}"""

    hint = "Repeat with --force to delete it anyway."


class PathNotFound(RewindError):
    """{checkpoint} does not hold {path}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind show {checkpoint} --files` to see what it holds."


class NothingToUndo(RewindError):
    """There is no earlier state to go back to."""

    exit_code = NOT_FOUND
    hint = "Run `rewind list` to see the checkpoints."


class NothingToRedo(RewindError):
    """There is nothing to redo."""

    exit_code = NOT_FOUND
    hint = "`rewind redo` reverses an `undo` or an `undo-restore`. To undo a restore: rewind undo-restore"


class NoRestoreToUndo(RewindError):
    """There is no restore to undo."""

    exit_code = NOT_FOUND
    hint = "To go back to the previous checkpoint: rewind undo"


class OperationNotFound(RewindError):
    """No operation matches "{name}"."""

    exit_code = NOT_FOUND
    hint = "Run `rewind ops` to see the operations."


class NotAStep(RewindError):
    """Operation {name} cannot be undone: {reason}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind ops` to see which operations can be undone."


class UnsavedEdits(RewindError):
    """Files changed since {checkpoint}, so redo would replace them; nothing was touched: {paths}"""

    exit_code = CHANGED
    hint = "Save them first with `rewind save`, or repeat with `--force`, which backs them up."


class ChangedSincePlan(RewindError):
    """Files changed while the restore was being prepared; nothing was touched: {paths}"""

    exit_code = CHANGED
    hint = "Look at the plan again (`--dry-run`), or repeat with `--force`."


class StoreDamaged(RewindError):
    """The store is damaged: {what}"""

    exit_code = DAMAGED
    hint = ("Run `rewind validate --deep` to see which checkpoints are affected; with `--repair` it brings"
            " back what has another copy.")


class CheckpointIncomplete(RewindError):
    """{checkpoint} is incomplete, so nothing was touched: {lacks}"""

    exit_code = DAMAGED
    hint = ("`rewind restore {checkpoint} --skip-missing` restores the rest;"
            " `rewind validate --deep --repair` looks for other copies of what is missing.")


class StoreUnavailable(RewindError):
    """The store cannot be used right now: {reason}"""

    exit_code = FAILED
    hint = "Check the free space and the permissions of {path}"


class FormatTooNew(RewindError):
    """{what} was written by a newer Rewind (format {found}; this one reads up to {known})."""

    exit_code = FAILED
    hint = "Upgrade Rewind, then try again."


class FileNotThere(RewindError):
    """There is no file {file}"""

    exit_code = FAILED
    hint = "Check the name. Paths are relative to the current directory."


class ArchiveRefused(RewindError):
    """Refusing to import {file}: {reason}"""

    exit_code = FAILED
    hint = "Nothing was imported."


class ConfigInvalid(RewindError):
    """{problem}"""

    exit_code = FAILED
    hint = "Correct {file}, or run `rewind config` to see every setting."
    problems: list[str] = []


class BackupFailed(RewindError):
    """The current state could not be backed up, so nothing was touched: {reason}"""

    exit_code = FAILED
    hint = "Free some space or fix the problem above, then try again."


class StateUnwritable(RewindError):
    """Rewind cannot write its state: {reason}"""

    exit_code = FAILED
    hint = "Nothing was changed. Check the space and the permissions of {path}"


class NotAFork(RewindError):
    """Refusing to move {path}: it is outside the agent's session directory."""

    hint = "Move or delete it yourself."


class PlaceTaken(RewindError):
    """Another session took the place of the deleted one, which stays in the trash: {session}"""

    hint = "Move that session away first: {path}"


class ChatNotRestored(RewindError):
    """The code is back, but the conversation is not: {reason}"""

    exit_code = PARTIAL
    hint = "Fix the problem above and try again. To undo the change to the code: rewind undo-restore"


class RewindInterrupted(RewindError):
    """The last rewind was interrupted. Finish it or undo it first."""

    hint = "To finish it: {finish}. To undo it: rewind undo-restore"


class NothingBeforePrompt(RewindError):
    """No checkpoint was made before this prompt, so there is no code to bring back."""

    exit_code = NOT_FOUND
    hint = "Choose the conversation alone, or a later prompt."


class PromptGone(RewindError):
    """This prompt is no longer part of the conversation."""

    exit_code = NOT_FOUND
    hint = "Look at the timeline again."


class TurnNotFound(RewindError):
    """This session has {total} turns, so there is no turn {turn}."""

    exit_code = NOT_FOUND
    hint = "Choose one of its turns."


class TurnWithoutCheckpoint(RewindError):
    """Turn {turn} has no checkpoint of its own, so what it did is not known: {session}"""

    exit_code = NOT_FOUND
    hint = "Name two checkpoints around it instead: A..B. `rewind list` shows them."


class SessionWithoutCode(RewindError):
    """No checkpoint was made in this session: {session}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind doctor` to see whether the hooks are registered."


class PathNotChanged(RewindError):
    """{path} was not changed there: {what}"""

    exit_code = NOT_FOUND
    hint = "Leave out the path to see what was changed, with `--dry-run`."


class HunkChanged(RewindError):
    """The hunks have changed since they were shown, so nothing was written: {path}"""

    exit_code = CHANGED
    hint = "The file changed meanwhile. Look at the diff again and choose again."


class SessionNotForked(RewindError):
    """This session is not a fork, so Rewind cannot tell where it began to differ: {session}"""

    exit_code = NOT_FOUND
    hint = "Name its turns as well: rewind apply t2..t4 --from {session}"


class ForkWithoutTurns(RewindError):
    """This fork has no turns of its own yet: {session}"""

    exit_code = NOT_FOUND
    hint = "Choose a fork that was continued; `rewind forks list` shows them."


class CheckpointWithoutParent(RewindError):
    """This is the first checkpoint of its line, so there is nothing before it: {checkpoint}"""

    exit_code = NOT_FOUND
    hint = "Choose a later one; `rewind list` shows them."


class CompactedAway(RewindError):
    """{agent} cannot continue from a turn before a compaction."""

    hint = "Choose a turn after the compaction."


class NoParent(RewindError):
    """This session is not a fork, so there is nothing to go forward to: {session}"""

    hint = "Choose a fork."


class TurnRunning(RewindError):
    """{agent} is in the middle of a turn here. Nothing was changed."""

    exit_code = CHANGED
    hint = "Wait until it is done or stop it, or repeat with --force."


class PathNeverSeen(RewindError):
    """No checkpoint holds {path}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind show last --files` to see what the newest one holds."


class NothingToBisect(RewindError):
    """There is nothing to search: {reason}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind list` to see the checkpoints."


class NotOnLine(RewindError):
    """{name} is not an ancestor of {other}"""

    exit_code = NOT_FOUND
    hint = "Choose two checkpoints of one line; `rewind list` shows them."


class BisectStopped(RewindError):
    """`{command}` ended with status {code}, so the search was stopped at {checkpoint}"""

    hint = ("0 means good, 1 to 124 bad, 125 skip. 126 and 127 mean that the command could not be run, 128"
            " and above that it was killed.")


class LinkedInstall(RewindError):
    """{path} has a package installed from {place}, so the command would test the current code each time."""

    hint = "Repeat with --in-place, or install the package without a link (not editable)."


class SessionThere(RewindError):
    """The agent still has {session}, so there is nothing to bring back."""

    hint = "`rewind sessions show {session}` shows it."


class FutureNotFound(RewindError):
    """No fork with a directory of its own is called "{name}"."""

    exit_code = NOT_FOUND
    hint = "`rewind forks` shows them, with their names and directories."


class FutureLost(RewindError):
    """The fork {name} cannot be used: {what}."""

    hint = "`rewind forks` shows what is left; `rewind list --all` shows its checkpoints."


class FutureBusy(RewindError):
    """An agent is open in the fork {name}: {dir}"""

    exit_code = CHANGED
    hint = "Close it there first."


class WorkNotSaved(RewindError):
    """Removing {name} would lose work: {what}."""

    exit_code = CHANGED
    hint = "Save it elsewhere (`git branch NAME` keeps commits), or add --force."


class NotARepository(RewindError):
    """This project is not in a git repository: {path}"""

    hint = "Run `git init` first, and save a checkpoint then."


class GitUnderWay(RewindError):
    """A {what} is in progress in this repository, so nothing was done."""

    hint = "Finish it or abort it with git first."


class NoCommitKnown(RewindError):
    """{checkpoint} does not record which commit was checked out, or that commit no longer exists."""

    exit_code = NOT_FOUND
    hint = "Choose later turns. Newer checkpoints record the commit."


class NothingToCommit(RewindError):
    """There is nothing to commit: {reason}"""

    exit_code = NOT_FOUND
    hint = "`rewind list` shows what changed with each checkpoint."


class BranchExists(RewindError):
    """There is a branch of this name already: {branch}"""

    hint = "Choose another one: --branch NAME"


class GitFailed(RewindError):
    """`git {command}` failed: {reason}"""

    hint = "Run the same command with `--verbose`, or try it with git itself."


class SessionNotFound(RewindError):
    """No session of this project matches "{name}"."""

    exit_code = NOT_FOUND
    hint = "Run `rewind sessions list` to see them."


class RemoteNotFound(RewindError):
    """There is no remote called "{name}"."""

    exit_code = NOT_FOUND
    hint = "To see them: rewind remote list. To add one: rewind remote add {name} URL"


class RemoteExists(RewindError):
    """There is a remote called "{name}" already."""

    hint = "Choose another name, or remove that one first: rewind remote remove {name}"


class RemoteUrlRefused(RewindError):
    """This cannot be the address of a remote, for {reason}: {url}"""

    exit_code = USAGE
    hint = "Use a path, HOST:PATH, or a URL that begins with https, http, ssh, git or file."


class RemoteFailed(RewindError):
    """`git {command}` with the remote {remote} failed: {reason}"""

    hint = "Nothing is lost. Fix the problem and run the same command again; it goes on where it stopped."


class RemoteRefused(RewindError):
    """Refusing what the remote {remote} holds: {reason}"""

    hint = "Nothing was changed."
