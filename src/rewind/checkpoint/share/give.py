"""`rewind share`: looked at first, then written into one file."""

from __future__ import annotations

from rewind.checkpoint.share.left_out import LeftOut, Policy
from rewind.checkpoint.share.outgoing import Outgoing
from rewind.checkpoint.share.package import Package
from rewind.checkpoint.share.what import what
from rewind.checkpoint.transfer import check_target, write_new_file
from rewind.snapshot.reasons import Reasons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from rewind.checkpoint.share.conversations import OutConversation
    from rewind.checkpoint.state import State
    from rewind.snapshot.build import Progress


class Sharing:
    """`with Sharing(state, words) as sharing:` knows all that `write` would write, and what it would not.

    With `with_secrets` files that hold some are shared, and still told: `secret_files` and `said` have them
    either way.
    """

    def __init__(self, state: State, words: list[str], *, with_secrets: bool = False,
                 with_ignored: bool = False, code_only: bool = False) -> None:
        self.what = what(state, words)
        self.policy = Policy(with_secrets=with_secrets, with_ignored=with_ignored)
        chats = [] if code_only else self.what.conversations(state, self.policy)
        self._outgoing = Outgoing(state, self.what.records, self.policy, chats)
        try:
            self.package = Package(self._outgoing, self.what.label)
        except BaseException:
            self._outgoing.__exit__(None, None, None)
            raise

    def __enter__(self) -> Sharing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._outgoing.__exit__(kind, error, trace)

    @property
    def conversations(self) -> list[OutConversation]:
        return self._outgoing.conversations

    @property
    def left_out(self) -> list[LeftOut]:
        """By path: secrets, ignored files, and links that lead out."""
        return sorted(self._outgoing.left_out.values(), key=lambda one: one.path)

    @property
    def secret_files(self) -> list[LeftOut]:
        return [one for one in self.left_out if one.reason == Reasons.SECRET]

    @property
    def has_secrets(self) -> bool:
        return bool(self.secret_files) or any(c.secrets for c in self.conversations)

    def write(self, path: str, *, force: bool = False, progress: Progress | None = None) -> int:
        """Complete or not there, and for nobody else to read. Returns its size."""
        return write_new_file(path, force, lambda file: self.package.write(file, progress))

    def check_target(self, path: str, force: bool) -> None:
        check_target(path, force)
