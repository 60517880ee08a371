"""Our hooks go into the text of a settings file and out again, and nothing else in it changes."""

from __future__ import annotations

import json
import os
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewind.agents.check import make_profile
from rewind.agents.registry import profile_named
from rewind.config.load import load_tier
from rewind.errors import SettingsUnreadable
from rewind.install.agent_settings.merger import EVENTS, MARK, entries_for, merge, our_hooks, unmerge

Hooks = dict[str, list[dict[str, Any]]]
SHIM = "/home/dev/.rewind/system/smart-checkpoint"
TIERS = ("minimal", "balanced", "aggressive")


def hooks_of(tier: str, agent: str = "claude", shim: str = SHIM) -> Hooks:
    return entries_for(load_tier(tier), profile_named(agent), shim)


MINIMAL, BALANCED, AGGRESSIVE = (hooks_of(tier) for tier in TIERS)

FOREIGN = """\
{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          { "type": "command", "command": "prettier --write \\"$FILE\\"" }
        ]
      }
    ],
    "Notification": [{"hooks": [{"type": "command", "command": "say \\u00e9"}]}]
  },
  "permissions": {
    "allow": ["Bash(npm run:*)",   "Read(~/.zshrc)"],
    "ratio": 1.50e+2
  }
}
"""


def without_ours(found: Any) -> Any:
    """The same by plain means: every hook with our mark, and the groups that are empty without it."""
    if isinstance(found, dict):
        return {key: without_ours(value) for key, value in found.items()}
    if not isinstance(found, list):
        return found
    kept = [without_ours(item) for item in found if not is_ours(item)]
    return [new for old, new in zip([item for item in found if not is_ours(item)], kept)
            if not (isinstance(old, dict) and old.get("hooks") and new["hooks"] == [])]


def is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and MARK in str(hook.get("command", ""))


# what is registered

def test_a_tier_becomes_groups_as_the_settings_have_them() -> None:
    assert BALANCED["PreToolUse"] == [
        {"matcher": "Edit|Write|MultiEdit|NotebookEdit",
         "hooks": [{"type": "command", "command": f"{SHIM} pre-tool-use", "timeout": 15}]},
        {"matcher": "Bash", "hooks": [{"type": "command", "command": f"{SHIM} pre-tool-use", "timeout": 15}]}]
    assert BALANCED["Stop"] == [{"hooks": [{"type": "command", "command": f"{SHIM} stop", "timeout": 15}]}]


def test_the_tools_are_those_of_the_agent() -> None:
    found = hooks_of("aggressive", "droid")
    assert [group["matcher"] for group in found["PostToolUse"]] == ["Create|Edit|ApplyPatch", "Execute"]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_only_classic_events_are_registered(tier: str, agent: str) -> None:
    assert set(hooks_of(tier, agent)) == set(load_tier(tier)["hooks"]) <= set(EVENTS)


def test_an_event_that_old_clients_do_not_know_is_left_out() -> None:
    tier = {"hooks": {"PostToolBatch": [{"action": "stop", "timeout": 5}],
                      "Stop": [{"action": "stop", "timeout": 5}]}}
    assert list(entries_for(tier, profile_named("claude"), SHIM)) == ["Stop"]


def test_an_agent_without_shell_tools_gets_no_group_for_them() -> None:
    """An empty matcher would mean every tool."""
    data = {**profile_named("claude").data, "tools": {"edit": ["write"], "shell": []}}
    found = entries_for(load_tier("aggressive"), make_profile(data, "mine.json"), SHIM)
    assert [group["matcher"] for group in found["PreToolUse"]] == ["write"]


@pytest.mark.parametrize(("shim", "command"), [
    ("/home/a b/smart-checkpoint", "'/home/a b/smart-checkpoint' stop"),
    ("/home/o'neil/smart-checkpoint", "'/home/o'\"'\"'neil/smart-checkpoint' stop"),
    ("/home/$x/smart-checkpoint", "'/home/$x/smart-checkpoint' stop"),
])
def test_a_path_that_a_shell_would_take_apart_is_quoted(shim: str, command: str) -> None:
    hooks = hooks_of("balanced", shim=shim)
    assert hooks["Stop"][0]["hooks"][0]["command"] == command
    assert unmerge(merge(FOREIGN, hooks, wrapped=True), wrapped=True) == FOREIGN


def test_a_shim_that_could_not_be_found_again_is_not_registered() -> None:
    with pytest.raises(ValueError):
        hooks_of("minimal", shim="/home/dev/checkpoint")


# how it looks

def test_ours_stand_behind_the_others_and_look_like_them() -> None:
    assert merge(FOREIGN, {**MINIMAL, "PostToolUse": BALANCED["PostToolUse"]}, wrapped=True) == """\
{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          { "type": "command", "command": "prettier --write \\"$FILE\\"" }
        ]
      },
      {
        "matcher": "Edit|Write|MultiEdit|NotebookEdit",
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.rewind/system/smart-checkpoint post-tool-use",
            "timeout": 10
          }
        ]
      }
    ],
    "Notification": [{"hooks": [{"type": "command", "command": "say \\u00e9"}]}],
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.rewind/system/smart-checkpoint session-start",
            "timeout": 30
          }
        ]
      }
    ]
  },
  "permissions": {
    "allow": ["Bash(npm run:*)",   "Read(~/.zshrc)"],
    "ratio": 1.50e+2
  }
}
"""


COMMAND = f'"command":"{SHIM} session-start"'


@pytest.mark.parametrize(("text", "expected"), [
    ('{"a":1}', '{"a":1,"hooks":{"SessionStart":[{"hooks":[{"type":"command",%s,"timeout":30}]}]}}'),
    ('{"a":1,"b":2}\n',
     '{"a":1,"b":2,"hooks":{"SessionStart":[{"hooks":[{"type":"command",%s,"timeout":30}]}]}}\n'),
    ('{"hooks":{"Stop":[]}}',
     '{"hooks":{"Stop":[],"SessionStart":[{"hooks":[{"type":"command",%s,"timeout":30}]}]}}'),
])
def test_a_file_of_one_line_stays_one_line(text: str, expected: str) -> None:
    assert merge(text, MINIMAL, wrapped=True) == expected % COMMAND


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [" ", "  ", "    ", "\t"])
def test_indentation_and_line_ends_are_those_of_the_file(indent: str, newline: str) -> None:
    text = json.dumps({"model": "opus"}, indent=indent).replace("\n", newline)
    wanted = json.dumps({"model": "opus", "hooks": BALANCED}, indent=indent).replace("\n", newline)
    assert merge(text, BALANCED, wrapped=True) == wanted


def test_a_new_file_is_plain_json() -> None:
    assert merge(None, BALANCED, wrapped=True) == json.dumps({"hooks": BALANCED}, indent=2) + "\n"
    assert merge(None, BALANCED, wrapped=False) == json.dumps(BALANCED, indent=2) + "\n"


# and back

SAME_AGAIN = [
    FOREIGN, FOREIGN.rstrip("\n"), FOREIGN.replace("\n", "\r\n"), FOREIGN.replace("  ", "\t"),
    "\ufeff" + FOREIGN, "\n\n" + FOREIGN + "\n \n", json.dumps(json.loads(FOREIGN)),
    json.dumps(json.loads(FOREIGN), separators=(",", ":")), "{}", "{}\n", "{ }", "{\n}\n", "{ \n }", "{\r\n}",
    '{"hooks": {}}', '{"hooks":{ }}', '{\n  "hooks": {}\n}\n', '{\n  "hooks": {\n  }\n}\n',
    '{\n  "a": 1,\n  "hooks": {}\n}', '{\n  "hooks": {"Stop": []}\n}\n',
    '{"hooks": {"Stop": [ ], "PreToolUse":[]}}',
    '{\n  "hooks": {\n    "Stop": [\n    ]\n  }\n}\n',
    '{"hooks" : {"Stop" : [{\n  "hooks" : []\n}]} , "a" : -0.0 }',
    '{\n"a": 1\n}', '{"a": 1,\n "b": 2}', '{"Stop": []}', '{\n  "Stop": [{"hooks": []}]\n}', '{"a":\n1}',
]


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("text", SAME_AGAIN)
def test_taking_out_gives_back_the_same_text(text: str, wrapped: bool) -> None:
    for hooks in (MINIMAL, BALANCED, AGGRESSIVE):
        merged = merge(text, hooks, wrapped=wrapped)
        assert merge(merged, hooks, wrapped=wrapped) == merged
        assert unmerge(merged, wrapped=wrapped) == text


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("tier", TIERS)
def test_a_file_that_registering_made_goes_again(tier: str, wrapped: bool) -> None:
    text = merge(None, hooks_of(tier), wrapped=wrapped)
    assert unmerge(text, wrapped=wrapped) is None
    assert unmerge(json.dumps(json.loads(text)), wrapped=wrapped) is None, "a client has written it anew"


def test_a_file_that_registering_made_stays_when_more_is_in_it() -> None:
    found = json.loads(merge(None, BALANCED, wrapped=True))
    assert unmerge(json.dumps({**found, "model": "opus"}), wrapped=True) == '{"model": "opus"}'
    found["hooks"]["Stop"].insert(0, {"hooks": []})
    assert unmerge(json.dumps(found), wrapped=True) == '{"hooks": {"Stop": [{"hooks": []}]}}'


def test_another_tier_replaces_ours_completely() -> None:
    for first in (MINIMAL, BALANCED, AGGRESSIVE):
        for second in (MINIMAL, BALANCED, AGGRESSIVE):
            merged = merge(merge(FOREIGN, first, wrapped=True), second, wrapped=True)
            assert merged == merge(FOREIGN, second, wrapped=True)


def test_hooks_of_an_older_installation_are_replaced_wherever_they_stand() -> None:
    old = {"type": "command", "command": "~/old/smart-checkpoint.sh pre"}
    mine = {"type": "command", "command": "mine"}
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [old]}, {"matcher": "X", "hooks": [mine]}],
                                 "SubagentStop": [{"hooks": [old, old]}]}})
    merged = json.loads(merge(text, MINIMAL, wrapped=True))
    assert merged["hooks"] == {"PreToolUse": [{"matcher": "X", "hooks": [mine]}], **MINIMAL}


def test_hooks_that_the_client_laid_out_anew_are_left_alone() -> None:
    text = json.dumps(json.loads(merge(FOREIGN, BALANCED, wrapped=True)), indent=3, sort_keys=True)
    assert merge(text, BALANCED, wrapped=True) == text


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0), (1, 0, 3, 2)])
def test_of_a_group_that_holds_others_too_only_ours_goes(order: tuple[int, ...]) -> None:
    ours = {"type": "command", "command": f"{SHIM} stop"}
    pool = [ours, {"type": "command", "command": "a"}, {"type": "prompt", "prompt": "b"}, ours]
    text = json.dumps({"hooks": {"Stop": [{"hooks": [pool[i] for i in order]}]}}, indent=2)
    rest = unmerge(text, wrapped=True)
    left = [pool[i] for i in order if i in (1, 2)]
    assert rest == json.dumps({"hooks": {"Stop": [{"hooks": left}]}}, indent=2)


def test_hooks_that_a_person_added_behind_ours_stay() -> None:
    found = json.loads(merge(FOREIGN, BALANCED, wrapped=True))
    new = {"hooks": [{"type": "command", "command": "new"}]}
    found["hooks"]["Stop"].append(new)
    found["hooks"]["SubagentStop"] = [new]
    rest = json.loads(unmerge(json.dumps(found, indent=2), wrapped=True) or "")
    assert rest["hooks"] == {**json.loads(FOREIGN)["hooks"], "Stop": [new], "SubagentStop": [new]}


def test_what_is_no_hook_of_ours_is_nobodys_business() -> None:
    odd: list[Any] = [1, None, MARK, [], {}, {"hooks": 3}, {"hooks": [MARK]}, {"command": MARK},
                      {"hooks": [{"command": [MARK]}]}]
    text = json.dumps({"hooks": {"Stop": odd}})
    assert unmerge(text, wrapped=True) == text
    assert unmerge(merge(text, BALANCED, wrapped=True), wrapped=True) == text


def test_a_text_without_ours_comes_back_as_it_is() -> None:
    for text in (*SAME_AGAIN, '{"hooks": 3}', '{"hooks": {"Stop": 3}}'):
        assert unmerge(text, wrapped=True) == text


def test_our_hooks_are_listed() -> None:
    found = our_hooks(merge(FOREIGN, AGGRESSIVE, wrapped=True), wrapped=True)
    assert [(hook.event, hook.matcher) for hook in found if hook.event == "PreToolUse"] == [
        ("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit"), ("PreToolUse", "Bash")]
    assert {hook.event for hook in found} == set(EVENTS)
    assert all(hook.command.startswith(SHIM + " ") for hook in found)


# what is refused

@pytest.mark.parametrize(("text", "problem"), [
    ("", "it is empty"), ("   \n", "it is empty"), ("{", "not valid JSON (line 1, column 2"),
    ('{"a": 1,}', "not valid JSON"), ("{'a': 1}", "not valid JSON"), ("{} {}", "not valid JSON"),
    ('{"a": NaN}', "NaN"), ('{"a": -Infinity}', "Infinity"), ('{"a": "x\ny"}', "not valid JSON"),
    ("[]", "object"), ("null", "object"), ('"hooks"', "object"), ("3", "object"),
    ('{"a": 1, "a": 2}', '"a" is there twice'), ('{"b": [{"a": 1, "\\u0061": 2}]}', '"a" is there twice'),
    ('{\n  // mine\n  "a": "http://x"\n}', "comments"), ('{"a": /* b */ 1}', "comments"),
    ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
])
def test_a_text_that_is_no_json_object_is_refused_and_named(text: str, problem: str) -> None:
    for wrapped in (True, False):
        with pytest.raises(SettingsUnreadable) as caught:
            merge(text, BALANCED, wrapped=wrapped, file="/x/settings.json")
        assert caught.value.message.startswith("/x/settings.json ") and problem in caught.value.message
        assert caught.value.exit_code == 1 and caught.value.hint
        with pytest.raises(SettingsUnreadable):
            unmerge(text, wrapped=wrapped)


@pytest.mark.parametrize("hooks", ["null", "[]", '"x"', '{"Stop": {}}', '{"Stop": null}', '{"Other": 3}'])
def test_hooks_of_another_shape_are_refused(hooks: str) -> None:
    with pytest.raises(SettingsUnreadable) as caught:
        merge('{"hooks": ' + hooks + "}", BALANCED, wrapped=True)
    assert "is not a" in caught.value.message


def test_in_a_flat_file_only_our_events_must_be_lists() -> None:
    text = '{"$schema": "x", "hooks": {"Stop": []}, "SessionEnd": {}}'
    assert unmerge(merge(text, MINIMAL, wrapped=False), wrapped=False) == text
    with pytest.raises(SettingsUnreadable):
        merge(text, BALANCED, wrapped=False)


def test_a_number_longer_than_python_reads_stays_as_it_is() -> None:
    text = '{"a": %s, "b": 1e999}' % ("9" * 10_000)
    assert unmerge(merge(text, BALANCED, wrapped=True), wrapped=True) == text


# any file at all

EXAMPLES = os.environ.get("REWIND_EXAMPLES")
QUIET = settings(max_examples=int(EXAMPLES or 100), deadline=None, derandomize=not EXAMPLES, database=None,
                 suppress_health_check=list(HealthCheck))
SPACE = st.text(" \t\r\n", max_size=3)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) \
    | st.text(max_size=8)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3)
                      | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6)
FOREIGN_HOOK = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.text(max_size=10)}, optional={"timeout": st.integers(1, 60)}
) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=2)
GROUP = st.fixed_dictionaries({"hooks": st.lists(FOREIGN_HOOK, max_size=3)},
                              optional={"matcher": st.sampled_from(["", "*", "Bash"])}) | VALUES
EVENT_LISTS = st.dictionaries(st.sampled_from([*EVENTS, "Notification", "SubagentStop"]),
                              st.lists(GROUP, max_size=3), max_size=4)


@st.composite
def objects(draw: st.DrawFn, wrapped: bool) -> dict[str, Any]:
    keys = st.text(max_size=5).filter(lambda key: key not in ("hooks", *EVENTS))
    found = draw(st.dictionaries(keys, VALUES, max_size=3))
    more: dict[str, Any] = draw(EVENT_LISTS)
    if wrapped:
        more = {"hooks": more} if draw(st.booleans()) else {}
    return dict(draw(st.permutations([*found.items(), *more.items()])))


@st.composite
def laid_out(draw: st.DrawFn, found: Any) -> str:
    """As a program writes it."""
    text = json.dumps(found, indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])),
                      ensure_ascii=draw(st.booleans()),
                      separators=draw(st.sampled_from([None, (",", ":"), (", ", ": "), (",", " : ")])))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\r\n", " \n\n"]))


def scrawled(draw: st.DrawFn, found: Any) -> str:
    """As nobody writes it: any space at any place."""
    def spaced(text: str) -> str:
        return draw(SPACE) + text + draw(SPACE)

    if isinstance(found, list):
        return "[" + (",".join(spaced(scrawled(draw, item)) for item in found) or draw(SPACE)) + "]"
    if not isinstance(found, dict):
        return json.dumps(found)
    members = [spaced(json.dumps(key)) + ":" + spaced(scrawled(draw, value)) for key, value in found.items()]
    return "{" + (",".join(members) or draw(SPACE)) + "}"


@st.composite
def texts(draw: st.DrawFn, wrapped: bool) -> str:
    found = draw(objects(wrapped))
    return draw(laid_out(found)) if draw(st.booleans()) else scrawled(draw, found) + draw(SPACE)


CASES = st.booleans().flatmap(lambda wrapped: st.tuples(st.just(wrapped), texts(wrapped)))
HOOKS = st.sampled_from([MINIMAL, BALANCED, AGGRESSIVE,
                         hooks_of("aggressive", "droid", "/a b/é/smart-checkpoint")])


def parse(text: Optional[str]) -> Any:
    assert text is not None
    return json.loads(text.lstrip("\ufeff"))


def ordered(found: Any) -> str:
    return json.dumps(found)


@pytest.mark.slow
@QUIET
@given(CASES, HOOKS, HOOKS)
def test_registering_and_unregistering_gives_back_the_same_text(
        case: tuple[bool, str], hooks: Hooks, others: Hooks) -> None:
    wrapped, text = case
    once = merge(text, hooks, wrapped=wrapped)
    assert merge(once, hooks, wrapped=wrapped) == once
    assert unmerge(once, wrapped=wrapped) == text
    assert merge(once, others, wrapped=wrapped) == merge(text, others, wrapped=wrapped)


@pytest.mark.slow
@QUIET
@given(CASES, HOOKS)
def test_registering_adds_ours_and_changes_nothing_else(case: tuple[bool, str], hooks: Hooks) -> None:
    wrapped, text = case
    before, after = parse(text), parse(merge(text, hooks, wrapped=wrapped))
    theirs, ours = (before.get("hooks", {}), after["hooks"]) if wrapped else (before, after)
    for event, groups in hooks.items():
        assert ours[event] == [*theirs.get(event, []), *groups]
        if event in theirs:
            ours[event] = theirs[event]
        else:
            del ours[event]
    if wrapped and "hooks" not in before:
        assert after.pop("hooks") == {}
    assert ordered(after) == ordered(before)


@pytest.mark.slow
@QUIET
@given(CASES, HOOKS, st.data())
def test_a_file_that_the_client_wrote_anew_is_the_same_without_ours(
        case: tuple[bool, str], hooks: Hooks, data: st.DataObject) -> None:
    wrapped, text = case
    again = data.draw(laid_out(parse(merge(text, hooks, wrapped=wrapped))))
    assert ordered(parse(unmerge(again, wrapped=wrapped))) == ordered(parse(text))


@pytest.mark.slow
@QUIET
@given(CASES, HOOKS, st.data())
def test_ours_are_found_wherever_the_client_has_put_them(
        case: tuple[bool, str], hooks: Hooks, data: st.DataObject) -> None:
    """Groups in another order, ours among the hooks of others."""
    wrapped, text = case
    found = parse(merge(text, hooks, wrapped=wrapped))
    events = found["hooks"] if wrapped else found
    for event in hooks:
        events[event] = data.draw(st.permutations(events[event]))
        for group in events[event]:
            if isinstance(group, dict) and isinstance(group.get("hooks"), list) and data.draw(st.booleans()):
                group["hooks"].insert(data.draw(st.integers(0, 2)), {"type": "command", "command": "x"})
    rest = parse(unmerge(data.draw(laid_out(found)), wrapped=wrapped) or "{}")
    left = rest.get("hooks", {}) if wrapped else rest
    for event in hooks:
        assert ordered(left.get(event, [])) == ordered(without_ours(events[event]))
