"""The id of a session is in its file's name, whatever the lines in it say. Agents treat it the same way."""

from __future__ import annotations

from rewind.transcript import layout
from rewind.transcript.layout import SUFFIX, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.agents.profile import Profile

__all__ = ["SUFFIX", "is_session_id", "path_beside", "session_id_of", "stem"]


def session_id_of(path: str, profile: Profile | None = None) -> str:
    """The stem of the file's name, unless the agent's kind of transcript has another rule."""
    if profile is None:
        return layout.session_id_of(path)
    from rewind.agents.profile import TREE  # `rewind list` knows no profile, and does without the module

    if profile.kind == TREE:
        return layout.session_id_of(path)
    from rewind.transcript.kinds.reading import reading_of

    return reading_of(profile).session_id_of(path)


def path_beside(original: str, session_id: str, profile: Profile) -> str:
    """The file of a new session, in the directory of another one. Always the same for an id."""
    from rewind.agents.profile import TREE

    if profile.kind == TREE:
        return layout.path_beside(original, session_id)
    from rewind.transcript.kinds.reading import reading_of

    return reading_of(profile).path_beside(original, session_id)


def is_session_id(text: str) -> bool:
    """Whether it may become part of a path without leading to another directory."""
    return (bool(text) and len(text) <= 200 and not text.startswith(".") and text.isascii()
            and text.replace("-", "").replace("_", "").replace(".", "").isalnum())
