"""The errors a user can meet: what is wrong, what to do next, and the exit code.

The message is the class's docstring, filled in with the keyword arguments.
All of them are here, by what they are about:

  The project and its store
    NotInitialised, StoreNotTrusted, HomeUnreadable, StoreMoved, Locked, StoreDamaged, StoreUnavailable,
    StateUnwritable, FormatTooNew, ConfigInvalid, InTheWay
  Checkpoints
    CheckpointNotFound, CheckpointAmbiguous, CheckpointNeeded, CheckpointIncomplete,
    CheckpointWithoutParent, NoConversation, PathNotFound, PathNeverSeen
  Going back, and undoing it
    BackupFailed, ChangedSincePlan, UnsavedEdits, TurnRunning, RewindInterrupted, ChatNotRestored,
    NothingToUndo, NothingToRedo, NoRestoreToUndo, OperationNotFound, NotAStep
  Turns and prompts
    TurnNotFound, TurnWithoutCheckpoint, NoCheckpointOfTurn, PromptAmbiguous, PromptGone,
    NothingBeforePrompt, NotEnoughPrompts, CompactedAway, PathNotChanged, HunkChanged
  Bisecting, and commits from turns
    NothingToBisect, NotOnLine, BisectStopped, LinkedInstall, NotARepository, GitUnderWay, NoCommitKnown,
    NothingToCommit, BranchExists, GitFailed
  Conversations and their forks
    SessionNotFound, NoSession, NoTurnSays, SessionAmbiguous, SessionThere, SessionInUse,
    SessionWithoutCode, SessionNotForked, ForkWithoutTurns, NoParent, NotAFork, NotMadeByRewind, NotOurs,
    PlaceTaken, NotInPlace, CannotFork, NothingBeforeCut, ClientMissing, ClientFailed, TranscriptNotFound,
    TranscriptUnreadable, TranscriptRewritten
  Several futures
    FutureNotFound, FutureLost, FutureBusy, WorkNotSaved
  Files and remotes that checkpoints go to
    FileNotThere, ArchiveRefused, RemoteNotFound, RemoteExists, RemoteUrlRefused, RemoteFailed,
    RemoteRefused
  Agents and their settings
    ProfileInvalid, AgentMissing, NoHooks, SettingsUnreadable, SettingsNoFile, SettingsClosed,
    SettingsTooLong, SettingsUnwritable, SettingsBusy, ScriptForeign, PathNotText
  The interfaces
    UiMissing, PortTaken, BadRequest, OutputLost, DemoFailed
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
        self.word = ""  # what was typed
        self.near: list[tuple[str, str]] = []  # what may have been meant: (selector, what it is)
        super().__init__(self.message)

    def near_to(self, word: str, near: list[tuple[str, str]]) -> RewindError:
        """Add suggestions, which the interface shows as commands to copy. Returns the error itself."""
        self.word, self.near = word, near
        return self

    def sentences(self) -> str:
        """The message and the hint, for a place that has room for one text."""
        return f"{self.message.rstrip('.')}. {self.hint}"

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


# the project and its store

class NotInitialised(RewindError):
    """This directory is not protected by Rewind yet: {path}"""

    exit_code = NOT_INITIALISED
    hint = "Run `rewind init` in the project's top directory."


class StoreNotTrusted(RewindError):
    """The checkpoints in {path} were not made by you on this machine, so they are not used."""

    hint = "If you know where they come from, run `rewind init --trust`."


class HomeUnreadable(RewindError):
    """Rewind cannot read {path}: {reason}"""

    hint = "Make it yours again: sudo chown -R \"$(id -un)\" ~/.rewind"


class StoreMoved(RewindError):
    """The checkpoints are not in {path} any more."""

    exit_code = CHANGED
    hint = "Another process has moved or removed them. Try again."


class Locked(RewindError):
    """Another Rewind process is at work here: {holder}"""

    exit_code = LOCKED
    hint = "Wait for it to finish and try again."


class StoreDamaged(RewindError):
    """The store is damaged: {what}"""

    exit_code = DAMAGED
    hint = ("Run `rewind validate --deep` to see which checkpoints are affected; with `--repair` it brings"
            " back what has another copy.")


class StoreUnavailable(RewindError):
    """The store cannot be used right now: {reason}"""

    hint = "Check the free space and the permissions of {path}"


class StateUnwritable(RewindError):
    """Rewind cannot write its state: {reason}"""

    hint = "Nothing was changed. Check the space and the permissions of {path}"


class FormatTooNew(RewindError):
    """{what} was written by a newer Rewind (format {found}; this one reads up to {known})."""

    hint = "Upgrade Rewind, then try again."


class ConfigInvalid(RewindError):
    """{problem}"""

    hint = "Correct {file}, or run `rewind config` to see every setting."
    problems: list[str] = []


class InTheWay(RewindError):
    """There is something else in {path}"""

    hint = "Move it away, then try again."


# checkpoints

class CheckpointNotFound(RewindError):
    """No checkpoint matches "{name}"."""

    exit_code = NOT_FOUND
    hint = "Run `rewind list --all` to see the names."


class CheckpointAmbiguous(RewindError):
    """{count} checkpoints begin with "{name}"."""

    exit_code = NOT_FOUND
    hint = "Type more of the name. To see all names: rewind list --all"


class CheckpointNeeded(RewindError):
    """Not deleting {name}: {reason}"""

    hint = "Repeat with --force to delete it anyway."


class CheckpointIncomplete(RewindError):
    """{checkpoint} is incomplete, so nothing was touched: {lacks}"""

    exit_code = DAMAGED
    hint = ("`rewind restore {checkpoint} --skip-missing` restores the rest;"
            " `rewind validate --deep --repair` looks for other copies of what is missing.")


class CheckpointWithoutParent(RewindError):
    """This is the first checkpoint of its line, so there is nothing before it: {checkpoint}"""

    exit_code = NOT_FOUND
    hint = "Choose a later one; `rewind list` shows them."


class NoConversation(RewindError):
    """{checkpoint} holds no conversation."""

    hint = "Restore its code alone with --code-only."


class PathNotFound(RewindError):
    """{checkpoint} does not hold {path}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind show {checkpoint} --files` to see what it holds."


class PathNeverSeen(RewindError):
    """No checkpoint holds {path}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind show last --files` to see what the newest one holds."


# going back, and undoing it

class BackupFailed(RewindError):
    """The current state could not be backed up, so nothing was touched: {reason}"""

    hint = "Free some space or fix the problem above, then try again."


class ChangedSincePlan(RewindError):
    """Files changed while the restore was being prepared; nothing was touched: {paths}"""

    exit_code = CHANGED
    hint = "Look at the plan again (`--dry-run`), or repeat with `--force`."


class UnsavedEdits(RewindError):
    """Files changed since {checkpoint}, so redo would replace them; nothing was touched: {paths}"""

    exit_code = CHANGED
    hint = "Save them first with `rewind save`, or repeat with `--force`, which backs them up."


class TurnRunning(RewindError):
    """{agent} is in the middle of a turn here. Nothing was changed."""

    exit_code = CHANGED
    hint = "Wait until it is done or stop it, or repeat with --force."


class RewindInterrupted(RewindError):
    """The last rewind was interrupted. Finish it or undo it first."""

    hint = "To finish it: {finish}. To undo it: rewind undo-restore"


class ChatNotRestored(RewindError):
    """The code is back, but the conversation is not: {reason}"""

    exit_code = PARTIAL
    hint = "Fix the problem above and try again. To undo the change to the code: rewind undo-restore"


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


# turns and prompts

class TurnNotFound(RewindError):
    """This session has {total} turns, so there is no turn {turn}."""

    exit_code = NOT_FOUND
    hint = "Choose one of its turns."


class TurnWithoutCheckpoint(RewindError):
    """Turn {turn} has no checkpoint of its own, so what it did is not known: {session}"""

    exit_code = NOT_FOUND
    hint = "Name two checkpoints around it instead: A..B. `rewind list` shows them."


class NoCheckpointOfTurn(RewindError):
    """No checkpoint has the code exactly as turn {turn} left it."""

    exit_code = NOT_FOUND
    hint = "Turns are captured while the hooks are installed; the last turn can always be marked."


class PromptAmbiguous(RewindError):
    """{count} prompts or descriptions contain "{text}"."""

    exit_code = NOT_FOUND
    hint = "Type more of the text, or search with `rewind grep`."


class PromptGone(RewindError):
    """This prompt is no longer part of the conversation."""

    exit_code = NOT_FOUND
    hint = "Look at the timeline again."


class NothingBeforePrompt(RewindError):
    """No checkpoint was made before this prompt, so there is no code to bring back."""

    exit_code = NOT_FOUND
    hint = "Choose the conversation alone, or a later prompt."


class NotEnoughPrompts(RewindError):
    """Cannot take back {wanted} prompts: this conversation has {found}."""

    exit_code = NOT_FOUND
    hint = "Run `rewind sessions show` to see its turns."


class CompactedAway(RewindError):
    """{agent} cannot continue from a turn before a compaction."""

    hint = "Choose a turn after the compaction."


class PathNotChanged(RewindError):
    """{path} was not changed there: {what}"""

    exit_code = NOT_FOUND
    hint = "Leave out the path to see what was changed, with `--dry-run`."


class HunkChanged(RewindError):
    """The hunks have changed since they were shown. Nothing was written: {path}"""

    exit_code = CHANGED
    hint = "Look at the diff again, then choose again."


# bisecting, and commits from turns

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
    """A branch of this name already exists: {branch}"""

    hint = "Choose another one: --branch NAME"


class GitFailed(RewindError):
    """`git {command}` failed: {reason}"""

    hint = "Run the same command with `--verbose`, or try it with git itself."


# conversations and their forks

class SessionNotFound(RewindError):
    """No session of this project matches "{name}"."""

    exit_code = NOT_FOUND
    hint = "Run `rewind sessions list` to see them."


class NoSession(SessionNotFound):
    """No conversation of this project was found."""

    hint = "Name one with --session ID, or a transcript with --session FILE.jsonl."


class NoTurnSays(SessionNotFound):
    """No turn matches "{text}"."""

    hint = "Name a turn by its number (t4), or by text of its prompt; `rewind list` shows them."


class SessionAmbiguous(RewindError):
    """{count} sessions begin with {name}"""

    exit_code = NOT_FOUND
    hint = "Give more of the id; `rewind sessions list` shows them."


class SessionThere(RewindError):
    """The agent still has {session}, so there is nothing to bring back."""

    hint = "`rewind sessions show {session}` shows it."


class SessionInUse(RewindError):
    """The session is open, so nothing was written: {reason}"""

    exit_code = CHANGED
    hint = ("Close it first, or leave out --in-place to get a fork. With --force its whole history may be"
            " lost when that client continues.")


class SessionWithoutCode(RewindError):
    """No checkpoint was made in this session: {session}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind doctor` to see whether the hooks are registered."


class SessionNotForked(RewindError):
    """This session is not a fork, so Rewind cannot tell where it began to differ: {session}"""

    exit_code = NOT_FOUND
    hint = "Name its turns as well: rewind apply t2..t4 --from {session}"


class ForkWithoutTurns(RewindError):
    """This fork has no turns of its own yet: {session}"""

    exit_code = NOT_FOUND
    hint = "Choose a fork that was continued; `rewind forks list` shows them."


class NoParent(RewindError):
    """This session is not a fork, so there is nothing to go forward to: {session}"""

    hint = "Choose a fork."


class NotAFork(RewindError):
    """Refusing to move {path}: it is outside the agent's session directory."""

    hint = "Move or delete it yourself."


class NotMadeByRewind(RewindError):
    """Rewind did not make {session}, so it does not delete it."""

    hint = "Use the agent itself to delete a session of its own."


class NotOurs(RewindError):
    """Refusing to write {path}: it is outside {agent}'s session directory."""

    hint = "Only files under {root} are written."


class PlaceTaken(RewindError):
    """Another session took the place of the deleted one, which stays in the trash: {session}"""

    hint = "Move that session away first: {path}"


class NotInPlace(RewindError):
    """{agent} {reason}, so none is rewritten in place."""

    hint = "Leave out --in-place to get a fork. The original stays as it is."


class CannotFork(RewindError):
    """This conversation cannot be forked: {reason}."""

    hint = "The code can be restored: run `rewind list`, then `rewind restore NAME --code-only`."


class NothingBeforeCut(RewindError):
    """There is nothing before this prompt that {agent} could continue from."""

    hint = "Start a new session instead: {start}"


class ClientMissing(RewindError):
    """{program} is not on your PATH, and only {agent} can add a session to its own storage."""

    hint = ("Add it to PATH and try again. For the code alone: `rewind list`, then"
            " `rewind restore NAME --code-only`.")


class ClientFailed(RewindError):
    """{agent} could not {what} the session {session}: {reason}"""

    hint = "Run `{command}` in {folder} to see why."


class TranscriptNotFound(RewindError):
    """There is no transcript at {path}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind sessions list` to see the conversations of this project."


class TranscriptUnreadable(RewindError):
    """The transcript cannot be read: {reason}"""

    hint = "Check the permissions of {path}"


class TranscriptRewritten(RewindError):
    """The conversation was rewritten in the meantime, so Rewind cannot tell where to cut it."""

    hint = "Try again."


# several futures

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


# files and remotes that checkpoints go to

class FileNotThere(RewindError):
    """There is no file {file}"""

    hint = "Check the name. Paths are relative to the current directory."


class ArchiveRefused(RewindError):
    """Refusing to import {file}: {reason}"""

    hint = "Nothing was imported."


class RemoteNotFound(RewindError):
    """There is no remote called "{name}"."""

    exit_code = NOT_FOUND
    hint = "To see them: rewind remote list. To add one: rewind remote add {name} URL"


class RemoteExists(RewindError):
    """A remote called "{name}" already exists."""

    hint = "Choose another name, or remove that one first: rewind remote remove {name}"


class RemoteUrlRefused(RewindError):
    """This cannot be the address of a remote because {reason}: {url}"""

    exit_code = USAGE
    hint = "Use a path, HOST:PATH, or a URL that begins with https, http, ssh, git or file."


class RemoteFailed(RewindError):
    """`git {command}` with the remote {remote} failed: {reason}"""

    hint = "Nothing is lost. Fix the problem and run the same command again; it continues where it stopped."


class RemoteRefused(RewindError):
    """Refusing what the remote {remote} holds: {reason}"""

    hint = "Nothing was changed."


# agents and their settings

class ProfileInvalid(RewindError):
    """The agent profile {file} cannot be used: {problem}"""

    hint = "Compare it with the fields in docs/agents.md."


class AgentMissing(RewindError):
    """{title} has never been used here: there is no {folder}"""

    hint = "Start it once, or name it explicitly to have the directory made."


class NoHooks(RewindError):
    """{title} has no hooks that Rewind could be registered with."""

    hint = "Its profile has no section `registration`; see docs/agents.md."


class SettingsUnreadable(RewindError):
    """{file} is left as it is: {problem}."""

    hint = "Nothing was written. Make it plain JSON by hand, then try again."


class SettingsNoFile(SettingsUnreadable):
    """{file} is left as it is: it is {what}."""

    hint = "Nothing was written. Move it away, then try again."


class SettingsClosed(SettingsUnreadable):
    """{file} is left as it is: it cannot be read ({reason})."""

    hint = "Nothing was written. Check its owner and its permissions, then try again."


class SettingsTooLong(SettingsUnreadable):
    """{file} is left as it is: it is longer than settings can be."""

    hint = "Nothing was written. Make it shorter, then try again."


class SettingsUnwritable(RewindError):
    """{file} cannot be written: {reason}."""

    hint = "Make it writable. If another tool manages it, let that one add the hooks."


class SettingsBusy(RewindError):
    """Another program keeps changing {file}"""

    hint = "Nothing was overwritten. Try again when the agent is idle."


class ScriptForeign(RewindError):
    """{file} is not Rewind's, so it was left alone."""

    hint = "Move it away, then run `rewind config --register-hooks`."


class PathNotText(RewindError):
    """No agent can call {shim}: settings files are UTF-8, and this path is not."""

    hint = "Set REWIND_HOME to a directory with a UTF-8 path, also for the agents. Then run `rewind install`."


# the interfaces

class UiMissing(RewindError):
    """The packages of the web page are not installed."""

    hint = "Get them with `rewind install --with-ui`, or in a checkout `pipx install '.[ui]'`."


class PortTaken(RewindError):
    """Port {port} cannot be used: {reason}"""

    hint = "Choose another one with --port, or leave it out to get a free one."


class BadRequest(RewindError):
    """{message}"""

    exit_code = USAGE
    hint = "Reload the page and try again."


class OutputLost(RewindError):
    """{what} could not be written: {reason}"""

    hint = "Only the output is lost; the command did its work."


class DemoFailed(RewindError):
    """Step {number} of the demo, "{title}", went wrong: {problem}"""

    hint = "Please report this. `rewind demo --keep` keeps the directory for a closer look."
