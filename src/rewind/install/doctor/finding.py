"""The result of one check: its state in a word, a sentence about it, and what to do."""

from __future__ import annotations

from typing import NamedTuple

OK, WARNING, PROBLEM = "ok", "warning", "problem"


class Finding(NamedTuple):
    """A problem prevents this project from being protected. A warning is worth knowing."""

    name: str
    status: str
    message: str
    fix: str = ""


def ok(name: str, message: str) -> Finding:
    return Finding(name, OK, message)


def warning(name: str, message: str, fix: str = "") -> Finding:
    return Finding(name, WARNING, message, fix)


def problem(name: str, message: str, fix: str = "") -> Finding:
    return Finding(name, PROBLEM, message, fix)
