"""`rewind share`: looked at first, then written into one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.checkpoint.project.state import State
from rewind.checkpoint.share.giving.conversations import OutConversation, SecretInConversation
from rewind.checkpoint.share.giving.left_out import LeftOut, Policy
from rewind.checkpoint.share.giving.outgoing import Outgoing
from rewind.checkpoint.share.giving.package import Package
from rewind.checkpoint.share.giving.selection import select_for_share
from rewind.checkpoint.share.transfer import check_target, write_new_file
from rewind.snapshot.rules.reasons import Reasons

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress


class Sharing:
    """`with Sharing(state, words) as sharing:` knows all that `write` would write, and what it would not.

    `secret_files` and `secrets_said` are told either way: with `with_secrets` they are shared, else left out
    or masked.
    """

    def __init__(self, state: State, words: list[str], *, with_secrets: bool = False,
                 with_ignored: bool = False, code_only: bool = False) -> None:
        self.selection = select_for_share(state, words)
        self.policy = Policy(with_secrets=with_secrets, with_ignored=with_ignored)
        conversations = [] if code_only else self.selection.conversations(state, self.policy)
        self._outgoing = Outgoing(state, self.selection.records, self.policy, conversations)
        try:
            self.package = Package(self._outgoing, self.selection.label)
        except BaseException:
            self._outgoing.__exit__()
            raise
        self.secret_files, self.secrets_said = _secrets(self._outgoing)
        if with_secrets:
            # What would have been left out is told all the same.
            with Sharing(state, words, with_ignored=with_ignored, code_only=code_only) as careful:
                self.secret_files, self.secrets_said = careful.secret_files, careful.secrets_said

    def __enter__(self) -> Sharing:
        return self

    def __exit__(self, *error: object) -> None:
        self._outgoing.__exit__()

    @property
    def conversations(self) -> list[OutConversation]:
        return self._outgoing.conversations

    @property
    def left_out(self) -> list[LeftOut]:
        """By path: secrets, ignored files, and links that lead out."""
        return sorted(self._outgoing.left_out.values(), key=lambda one: one.path)

    @property
    def has_secrets(self) -> bool:
        return bool(self.secret_files or self.secrets_said)

    def write(self, path: str, *, force: bool = False, progress: Progress | None = None) -> int:
        """Complete or not there, and for nobody else to read. Returns its size."""
        return write_new_file(path, force, lambda file: self.package.write(file, progress))

    def check_target(self, path: str, force: bool) -> None:
        check_target(path, force)


def _secrets(outgoing: Outgoing) -> tuple[list[LeftOut], list[tuple[str, SecretInConversation]]]:
    """Files by path, and what was said, with its session."""
    files = [one for one in outgoing.left_out.values() if one.reason == Reasons.SECRET]
    said = [(given.session, one) for given in outgoing.conversations for one in given.secrets]
    return sorted(files, key=lambda one: one.path), said
