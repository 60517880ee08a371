"""The patterns of a shell: wildcards and braces, with `\\` before a character that means only itself."""

from __future__ import annotations

WILD = frozenset("*?[")

_SPECIAL = frozenset("\\*?[]{},")
_MOST_BRACES = 64  # words that one word may become
_LONGEST = 4096
_LITERAL, _ANY, _STAR, _SET = "literal", "any", "star", "set"


def escape(text: str) -> str:
    """Text as a pattern that matches only itself."""
    if _SPECIAL.isdisjoint(text):
        return text
    return "".join("\\" + char if char in _SPECIAL else char for char in text)


def unescape(pattern: str) -> str:
    if "\\" not in pattern:
        return pattern
    halves = pattern.split("\\\\")
    return "\\".join(half.replace("\\", "") for half in halves)


def is_wild(pattern: str) -> bool:
    if WILD.isdisjoint(pattern):
        return False
    return any(kind != _LITERAL for kind, _ in _tokens(pattern))


def matches(pattern: str, name: str, dots: bool = False) -> bool:
    """Whether a name fits. A leading dot must be written out, unless `dots`."""
    tokens = _tokens(pattern)
    if name.startswith(".") and not dots and (not tokens or tokens[0] != (_LITERAL, ".")):
        return False
    at = i = 0
    star = resume = -1
    while i < len(name):
        if at < len(tokens) and tokens[at][0] == _STAR:
            star, resume = at, i
            at += 1
        elif at < len(tokens) and _fits(tokens[at], name[i]):
            at += 1
            i += 1
        elif star >= 0:
            resume += 1
            at, i = star + 1, resume
        else:
            return False
    return all(kind == _STAR for kind, _ in tokens[at:])


def _fits(token: tuple[str, str], char: str) -> bool:
    kind, text = token
    if kind == _SET:
        negated = text[0] in "!^"
        return _in_set(text[negated:], char) != negated
    return kind == _ANY or (kind == _LITERAL and text == char)


def _in_set(members: str, char: str) -> bool:
    if "[:" in members:
        return True  # a class such as [:alpha:] could well hold it
    for i, member in enumerate(members):
        if member == char:
            return True
        if member == "-" and 0 < i < len(members) - 1 and members[i - 1] <= char <= members[i + 1]:
            return True
    return False


def _tokens(pattern: str) -> list[tuple[str, str]]:
    found = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        first = i + 3 if pattern[i + 1 : i + 2] in ("!", "^") else i + 2  # a `]` before it is a member
        close = pattern.find("]", first) if char == "[" else -1
        if char == "*":
            found.append((_STAR, char))
        elif char == "?":
            found.append((_ANY, char))
        elif close > 0:
            found.append((_SET, pattern[i + 1 : close]))
            i = close
        else:
            i += char == "\\"
            found.append((_LITERAL, pattern[i : i + 1]))
        i += 1
    return found


def braces(pattern: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`; more of them than anyone types stay as they are."""
    if "{" not in pattern or len(pattern) > _LONGEST:
        return [pattern]
    done: list[str] = []
    todo = [pattern]
    while todo and len(done) + len(todo) <= _MOST_BRACES:
        one = todo.pop()
        group = _first_group(one)
        if group is None:
            done.append(one)
        else:
            before, choices, after = group
            todo += [before + choice + after for choice in reversed(choices)]
    return [pattern] if todo else done


def _first_group(pattern: str) -> tuple[str, list[str], str] | None:
    starts: list[list[int]] = []  # per open brace: where it stands, and its commas
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "\\":
            i += 1
        elif char == "{":
            starts.append([i])
        elif char == "," and starts:
            starts[-1].append(i)
        elif char == "}" and starts:
            cuts = [*starts.pop(), i]
            if len(cuts) > 2:
                choices = [pattern[a + 1 : b] for a, b in zip(cuts, cuts[1:])]
                return pattern[: cuts[0]], choices, pattern[i + 1 :]
        i += 1
    return None
