"""temporary"""
from __future__ import annotations
from rewind.snapshot.textdiff import blocks as changed_blocks
__all__ = ["changed_blocks"]
