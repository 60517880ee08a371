"""Comments in the settings of agents that allow them: taken out before a change, and put back afterwards.

In between, a run of blanks and tabs that no edit touches stands for each comment. If a comment would be lost
or doubled, the file is left alone.
"""

from __future__ import annotations

import re

from rewind.errors import SettingsUnreadable

_TOKEN = "\t \t  \t \t"  # nobody indents like this
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.S)


def without_comments(text: str) -> str:
    """To read a file that some clients accept with comments. Never write the result."""
    return _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)


def take_out(text: str, file: str) -> tuple[str, list[str]]:
    """The text without its comments, and the comments."""
    if _TOKEN in text:
        raise SettingsUnreadable(file=file, problem="its layout is not understood")
    comments: list[str] = []

    def replace(found: re.Match[str]) -> str:
        if found[0][0] == '"':
            return found[0]
        comments.append(found[0])
        return _TOKEN

    return _STRING_OR_COMMENT.sub(replace, text), comments


def put_back(text: str | None, comments: list[str], file: str) -> str | None:
    if text is None:
        return "\n".join([*comments, "{}", ""]) if comments else None
    pieces = text.split(_TOKEN)
    if len(pieces) != len(comments) + 1:
        raise SettingsUnreadable(file=file, problem="a comment stands where Rewind's hooks go",
                                 hint="Nothing was written. Move the comment to a line of its own.")
    return "".join(piece + comment for piece, comment in zip(pieces, [*comments, ""]))
