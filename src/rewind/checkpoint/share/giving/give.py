"""`rewind share`: find out what would be shared, then write it into one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.checkpoint.project.state import State
from rewind.checkpoint.share.export_import import check_target, new_file
from rewind.checkpoint.share.giving.conversations import OutConversation, SecretInConversation
from rewind.checkpoint.share.giving.left_out import LeftOut, Policy
from rewind.checkpoint.share.giving.outgoing import Outgoing
from rewind.checkpoint.share.giving.package import Package
from rewind.checkpoint.share.giving.selection import select_for_share
from rewind.snapshot.rules.reason_codes import Reasons

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress


class Sharing:
    """`with Sharing(state, words) as sharing:` knows what `write` will write, and what it will leave out.

    `secret_files` and `conversation_secrets` (with their session) list the secrets in either case. With
    `with_secrets` they are shared, otherwise left out or masked.
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
        self.secret_files = [one for one in self.left_out if one.reason == Reasons.SECRET]
        self.conversation_secrets: list[tuple[str, SecretInConversation]] = [
            (given.session, one) for given in self.conversations for one in given.secrets]
        if with_secrets:
            # Nothing was searched for secrets, so they are found as if they were to be left out.
            with Sharing(state, words, with_ignored=with_ignored, code_only=code_only) as careful:
                self.secret_files = careful.secret_files
                self.conversation_secrets = careful.conversation_secrets

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
        return self._outgoing.left_out

    @property
    def has_secrets(self) -> bool:
        return bool(self.secret_files or self.conversation_secrets)

    def write(self, path: str, *, force: bool = False, progress: Progress | None = None) -> int:
        """Only this user can read the file. Returns its size."""
        with new_file(path, force) as file:
            self.package.write(file, progress)
            return file.tell()

    def check_target(self, path: str, force: bool) -> None:
        check_target(path, force)
