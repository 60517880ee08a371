"""A profile is checked as a whole when it is loaded, and each mistake is named by its field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import rewind.agents
from rewind.agents.check import make_profile
from rewind.agents.profile import holds, pick
from rewind.errors import ProfileInvalid

PROFILES = Path(rewind.agents.__file__).parent / "profiles"
SHIPPED = sorted(path.stem for path in PROFILES.glob("*.json"))


def shipped(name: str) -> dict[str, Any]:
    found = json.loads((PROFILES / f"{name}.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def put(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with another value at a dotted path."""
    data = copy.deepcopy(data)
    *above, last = path.split(".")
    at: Any = data
    for key in above:
        at = at[int(key) if key.isdigit() else key]
    at[last] = value
    return data


def take(data: dict[str, Any], path: str) -> dict[str, Any]:
    data = copy.deepcopy(data)
    *above, last = path.split(".")
    at: Any = data
    for key in above:
        at = at[key]
    del at[last]
    return data


def problem(data: Any) -> str:
    with pytest.raises(ProfileInvalid) as caught:
        make_profile(data, "mine.json")
    error = caught.value
    assert error.exit_code == 1 and "docs/agents.md" in error.hint
    prefix = "The agent profile mine.json cannot be used: "
    assert error.message.startswith(prefix) and "\n" not in error.message
    return error.message[len(prefix):]


def test_the_shipped_ones_are_the_agents_that_the_docs_list() -> None:
    assert SHIPPED == ["claude", "codex", "droid", "gemini", "opencode", "unknown"]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_profile_is_valid_and_named_as_its_file(name: str) -> None:
    profile = make_profile(shipped(name), name)
    assert profile.name == name and name in repr(profile)
    assert profile.fork["strategy"] == "prefix-copy"


@pytest.mark.parametrize("path", [
    "format", "name", "title", "environment", "environment.marks", "environment.session", "sessions",
    "sessions.home", "sessions.folders", "recognise", "recognise.within", "links", "lines", "lines.id",
    "lines.content", "prompt", "prompt.require", "prompt.joinKey", "leaf", "leaf.append", "compaction",
    "compaction.resumable", "titles", "fork", "fork.strategy", "fork.sidecars", "native", "liveness",
    "liveness.session", "commands", "commands.resume", "tools", "tools.edit"])
def test_a_missing_field_is_named(path: str) -> None:
    assert problem(take(shipped("claude"), path)) == f"{path} is missing"


@pytest.mark.parametrize("path", ["recognise.keys", "recognise.equals", "prompt.skipBlocks"])
def test_a_field_that_may_be_absent_may_be_absent(path: str) -> None:
    data = shipped("claude")
    section, key = path.split(".")
    data[section].pop(key, None)
    make_profile(data, "mine.json")


@pytest.mark.parametrize(("path", "value", "words"), [
    ("format", 2, "format must be 1"),
    ("format", "1", "format must be 1"),
    ("name", "my agent", "name must be letters, digits and dashes"),
    ("name", "../x", "name must be letters, digits and dashes"),
    ("name", "", "name must be letters, digits and dashes"),
    ("name", "é", "name must be letters, digits and dashes"),
    ("title", 7, "title must be a text"),
    ("environment", [], "environment must be an object"),
    ("environment.marks", "CLAUDECODE", "environment.marks must be a list of texts"),
    ("environment.marks", [1], "environment.marks must be a list of texts"),
    ("environment.session", 1, "environment.session must be a text"),
    ("sessions.folders", "flat", "sessions.folders must be one of alphanumeric, slashes, dates, marked"),
    ("sessions.flat", "no", "sessions.flat must be true or false"),
    ("sessions.home", None, "sessions.home must be a text"),
    ("recognise.within", 0, "recognise.within must be a number from 1 to 10000"),
    ("recognise.within", True, "recognise.within must be a number from 1 to 10000"),
    ("recognise.within", 10**9, "recognise.within must be a number from 1 to 10000"),
    ("links", "guess", "links must be one of parent-uuid, file-order"),
    ("links", ["parent-uuid"], "links must be one of parent-uuid, file-order"),
    ("lines.entry", {"type": "user"}, "lines.entry must be a condition"),
    ("lines.user", [], "lines.user must be a condition"),
    ("lines.user", [[{"type": ["user"]}]], "lines.user must be a condition"),
    ("prompt.text", "last", "prompt.text must be one of all, first"),
    ("prompt.commands", {"starts": ["<x>"]}, "prompt.commands.genuine is missing"),
    ("leaf.append", "{leaf}", "leaf.append must be an object"),
    ("titles", {}, "titles must be a list"),
    ("titles", [{"line": {}}], "titles[0].field is missing"),
    ("fork.strategy", "import", "fork.strategy must be one of prefix-copy"),
    ("fork.append", {}, "fork.append must be a list"),
    ("fork.append", ["x"], "fork.append[0] must be an object"),
    ("fork.sidecars", [{"suffix": ".s"}], "fork.sidecars[0].drop is missing"),
    ("commands.start", None, "commands.start must be a text"),
    ("tools.shell", None, "tools.shell must be a list of texts"),
])
def test_a_value_of_the_wrong_kind_is_named_with_what_is_wanted(path: str, value: Any, words: str) -> None:
    assert problem(put(shipped("claude"), path, value)) == words


@pytest.mark.parametrize("path", ["environment.session", "environment.pid", "sessions", "recognise", "leaf",
                                  "lines.parent", "lines.version", "prompt.joinKey", "prompt.commands",
                                  "compaction", "compaction.summary", "native", "liveness",
                                  "liveness.start", "fork.header", "fork.titleField", "leaf.since"])
def test_what_an_agent_has_not_may_be_null(path: str) -> None:
    make_profile(put(shipped("claude"), path, None), "mine.json")


@pytest.mark.parametrize("path", ["colour", "sessions.colour", "prompt.colour", "fork.colour",
                                  "commands.colour"])
def test_a_field_that_does_not_exist_is_named(path: str) -> None:
    assert problem(put(shipped("claude"), path, 1)) == f"{path} is not a field"


@pytest.mark.parametrize("data", [None, [], "claude", 1, True])
def test_something_that_is_no_object_is_refused(data: Any) -> None:
    assert problem(data) == "it must be an object"


@pytest.mark.parametrize("text", ["mine --resume {id}", "mine {session", "mine {}", "mine {session.x}",
                                  "mine }"])
def test_a_resume_command_that_cannot_be_filled_in_is_named(text: str) -> None:
    """It is used when a fork has just been made: too late to find out."""
    assert "commands.resume" in problem(put(shipped("claude"), "commands.resume", text))


@pytest.mark.parametrize("path", ["prompt.absentOr", "prompt.refuse"])
def test_a_list_of_conditions_is_named_where_only_one_is_understood(path: str) -> None:
    data = put(shipped("claude"), path, [{"isMeta": [True]}])
    try:
        profile = make_profile(data, "mine.json")
    except ProfileInvalid as error:
        assert path in error.message
        return
    from rewind.transcript.read.prompts import kind_of_prompt

    kind_of_prompt({"type": "user", "message": {"content": "x"}}, profile)  # accepted: then it must work


# conditions

def test_every_field_of_a_condition_must_hold() -> None:
    where: Any = {"type": ["user", "human"], "message.role": ["user"]}
    assert holds(where, {"type": "human", "message": {"role": "user"}})
    assert not holds(where, {"type": "user", "message": {"role": "x"}})
    assert not holds(where, {"type": "user"})
    assert holds({}, {})


def test_one_of_several_conditions_is_enough() -> None:
    where: Any = [{"a": [1]}, {"b": [2]}]
    assert holds(where, {"b": 2}) and not holds(where, {"a": 2, "b": 1})


def test_true_is_not_the_number_one() -> None:
    assert not holds({"a": [True]}, {"a": 1}) and not holds({"a": [1]}, {"a": True})


def test_a_dotted_path_goes_through_objects_only() -> None:
    assert pick({"a": {"b": 1}}, "a.b") == 1
    assert pick({"a": [1]}, "a.0") is None and pick({"a": 1}, "a.b") is None
    assert pick(None, "a") is None and pick({"a": 1}, None) is None
