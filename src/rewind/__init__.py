"""Rewind: a time machine for AI coding agents."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Controller", "__version__"]


def __getattr__(name: str) -> object:
    # A hook imports `rewind.…` on every tool call. The controller, and all that it imports, is loaded only
    # on demand.
    if name == "Controller":
        from rewind.controller import Controller

        return Controller
    raise AttributeError(name)
