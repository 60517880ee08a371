"""Rewind: a time machine for AI coding agents."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Controller", "__version__"]


def __getattr__(name: str) -> object:
    # The hook imports `rewind.…` on every tool call; the controller and all that it pulls in
    # are loaded only by those who ask for it.
    if name == "Controller":
        from rewind.controller import Controller

        return Controller
    raise AttributeError(name)
