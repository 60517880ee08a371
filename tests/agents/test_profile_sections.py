"""The types of a profile's sections have the fields that are checked when a profile is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from rewind.agents import profile_sections as sections
from rewind.agents.check import _SHAPE

SHAPE: Any = _SHAPE
SHAPES = {
    "Environment": SHAPE["environment"], "Sessions": SHAPE["sessions?"], "Recognise": SHAPE["recognise?"],
    "Lines": SHAPE["lines"], "Prompt": SHAPE["prompt"], "SlashCommands": SHAPE["prompt"]["commands?"],
    "Leaf": SHAPE["leaf?"], "Compaction": SHAPE["compaction?"], "Title": SHAPE["titles"][0],
    "Fork": SHAPE["fork"], "Header": SHAPE["fork"]["header?"], "TitleField": SHAPE["fork"]["titleField?"],
    "LastMessage": SHAPE["fork"]["header?"]["lastMessage"], "Sidecar": SHAPE["fork"]["sidecars"][0],
    "Native": SHAPE["native?"], "Liveness": SHAPE["liveness?"], "Locks": SHAPE["*locks?"],
    "Registration": SHAPE["*registration?"], "Trust": SHAPE["*registration?"]["*trust"],
    "Commands": SHAPE["commands"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_type_has_the_fields_that_are_checked(name: str) -> None:
    found = getattr(sections, name).__annotations__
    assert set(found) == {key.strip("?*") for key in SHAPES[name]}
    may_be_null = {key for key, hint in found.items() if "None" in getattr(hint, "__forward_arg__", "")}
    assert may_be_null == {key.strip("?*") for key in SHAPES[name] if key.endswith("?")}
    may_be_missing = any(key.startswith("*") for key in SHAPES[name])
    assert not (may_be_missing and getattr(sections, name).__total__)
