"""`hook-state.json`: when the last checkpoint was made, which events were seen, what went wrong."""

from __future__ import annotations

import os

from rewind import jsonfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.project.missed import Begun, MissedEvent

    class Failure(TypedDict, total=False):
        """An event whose checkpoint failed. In a file that was read, any member may have another type."""

        at: str
        action: str
        message: str

FORMAT = 1
_FILE = "hook-state.json"
_MAX_BYTES = 1 << 20
_MOST_SEEN = 64
_MOST_FILES = 500
_MOST_ERRORS = 10
_MOST_PROMPTS = 20
_MOST_MISSED = 200


class HookState:
    """Small, and never worth an error: if it cannot be read it begins anew, and if it cannot be written the
    change is lost.

    To change it, read it anew and save it within `HookFilesLock`, because hooks of other sessions change it
    as well.
    """

    def __init__(self, folder: str) -> None:
        """`folder`: the directory of a place, or Rewind's home for what happens outside any project."""
        self.folder = folder
        self.last_checkpoint = 0.0
        self.seen: list[str] = []
        self.protected: list[str] = []  # files whose bytes a checkpoint is known to hold
        self.failures = 0  # in a row
        self.errors: list[Failure] = []
        self.warned: list[str] = []  # sessions that were told that nothing is protected
        self.prompts: dict[str, str] = {}  # the latest prompt of each session
        self.begun: list[Begun] = []  # checkpoints that a process is making now
        self.background_pid = 0  # the latest process that went on after its hook
        self.notices: list[str] = []  # what the next start of a session tells the person
        self.missed: list[MissedEvent] = []  # events that have no checkpoint, and why
        self._load()

    def _load(self) -> None:
        data = jsonfile.read_or_empty(os.path.join(self.folder, _FILE), _MAX_BYTES)
        if data.get("format") != FORMAT:
            return
        last, failures, prompts, left = (data.get(key) for key in ("lastCheckpoint", "failures", "prompts",
                                                                   "left"))
        self.last_checkpoint = float(last) if isinstance(last, (int, float)) else 0.0
        self.failures = failures if isinstance(failures, int) else 0
        self.background_pid = left if isinstance(left, int) else 0
        # Earlier versions wrote `prompt`, which does not say of which session it is.
        self.prompts = {session: text for session, text in prompts.items() if isinstance(text, str)} \
            if isinstance(prompts, dict) else {}
        self.seen = jsonfile.texts_in(data.get("seen"))
        self.protected = jsonfile.texts_in(data.get("protected"))
        self.warned = jsonfile.texts_in(data.get("warned"))
        self.notices = jsonfile.texts_in(data.get("notices"))
        self.errors = jsonfile.objects_in(data.get("errors"))
        self.begun = jsonfile.objects_in(data.get("begun"))
        self.missed = jsonfile.objects_in(data.get("missed"))

    def save(self) -> bool:
        data = {"format": FORMAT, "lastCheckpoint": self.last_checkpoint, "failures": self.failures,
                "prompts": dict([*self.prompts.items()][-_MOST_PROMPTS:]), "seen": self.seen[-_MOST_SEEN:],
                "protected": self.protected[-_MOST_FILES:], "warned": self.warned[-_MOST_SEEN:],
                "errors": self.errors[-_MOST_ERRORS:], "begun": self.begun[-_MOST_SEEN:],
                "missed": self.missed[-_MOST_MISSED:], "left": self.background_pid,
                **({"notices": self.notices[-_MOST_ERRORS:]} if self.notices else {})}
        try:
            jsonfile.write(os.path.join(self.folder, _FILE), data, sync=False)
            return True
        except OSError:
            return False  # a full disk is reported by what matters, the checkpoint itself

    def note_prompt(self, session: str, text: str) -> None:
        self.prompts.pop(session, None)  # the latest comes last
        self.prompts[session] = text

    def forget(self, key: str) -> None:
        self.seen = [seen for seen in self.seen if seen != key]

    def note_error(self, at: str, action: str, message: str) -> None:
        self.failures += 1
        self.errors.append({"at": at, "action": action, "message": message[:500]})

    # what became of each checkpoint

    def note_begun(self, entry: Begun, *, late: bool = False) -> None:
        """A process begins to make a checkpoint. `late`: its hook does not wait for it any more."""
        late = late or self.is_late(entry["pid"])
        self.note_ended(entry["pid"])
        self.note_killed()
        self.begun.append({**entry, "late": late})

    def claim(self, key: str) -> bool:
        """False if this event was seen before."""
        if key and key in self.seen:
            return False
        if key:
            self.seen.append(key)
        return True

    def note_killed(self) -> None:
        """A checkpoint was never made if the process that began it is dead."""
        if not self.begun:
            return
        from rewind.checkpoint.project.missed import KILLED, is_alive

        begun, self.begun = self.begun, []
        for one in begun:
            if is_alive(one):
                self.begun.append(one)
            else:
                self.note_missed(one, KILLED)

    def note_ended(self, pid: int) -> None:
        """This process does not make a checkpoint any more, whether it has made it or not."""
        self.begun = [one for one in self.begun if one.get("pid") != pid]

    def is_late(self, pid: int) -> bool:
        return any(one.get("pid") == pid and one.get("late") is True for one in self.begun)

    def note_missed(self, event: Begun, reason: str) -> None:
        self.missed.append({"at": event.get("at"), "event": event.get("event"),
                            "session": event.get("session"), "reason": reason[:200]})

    def take_unreported(self, leave: int = 0) -> list[MissedEvent]:
        """Missed events that the person was not told about, except for the last `leave`. From now on they
        count as told."""
        found = [one for one in self.missed[:len(self.missed) - leave] if one.get("told") is not True]
        for one in found:
            one["told"] = True
        return found
