"""What each recorded payload asks for, by tier; and what holds a checkpoint back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hook_scene import ACTIONS, LONG, Case, Hooks, recorded
from rewind.config.load import load_tier, load_usable
from rewind.hooks.decide import Decision, decide
from rewind.hooks.event import EVENTS, HookEvent, read_event
from rewind.hooks.handle import handle
from rewind.hooks.memory.hook_state import HookState

TIERS = ("minimal", "balanced", "aggressive")
YES, NO = "checkpoint", "nothing"
FIRST = "only for a file that no checkpoint holds"  # a small edit
NEW = "only for a conversation without a checkpoint"
NEVER = (NO, NO, NO)

# What a payload asks for in the tiers minimal, balanced and aggressive.
EXPECTED = {
    "claude: PostToolUse (Agent)": NEVER,
    "claude: PostToolUse (Bash)": (NO, NO, YES),
    "claude: PostToolUse (Bash, inside a subagent)": (NO, NO, YES),
    "claude: PostToolUse (Edit)": NEVER,
    "claude: PostToolUse (Write)": NEVER,
    "claude: PreToolUse (Agent)": NEVER,
    "claude: PreToolUse (Bash)": (NO, NO, YES),
    "claude: PreToolUse (Bash, inside a subagent)": (NO, NO, YES),
    "claude: PreToolUse (Edit)": (NO, FIRST, FIRST),
    "claude: PreToolUse (Write)": (NO, FIRST, FIRST),
    "claude: SessionEnd (clear)": NEVER,
    "claude: SessionEnd (other)": NEVER,
    "claude: SessionEnd (prompt_input_exit)": NEVER,
    "claude: SessionEnd (resume)": NEVER,
    "claude: SessionStart (clear)": (NEW, NEW, NEW),
    "claude: SessionStart (compact)": (NEW, NEW, NEW),
    "claude: SessionStart (resume)": (NEW, NEW, NEW),
    "claude: SessionStart (startup)": (YES, YES, YES),
    "claude: Stop": (NO, YES, YES),
    "claude: UserPromptSubmit": (NO, YES, YES),
    "claude: UserPromptSubmit (queued prompt: prompt_id is that of the RUNNING turn)": (NO, YES, YES),
    "claude: UserPromptSubmit (task notification, NOT human)": NEVER,
    "droid: 1 SessionStart (startup)": (YES, YES, YES),
    "droid: 2 UserPromptSubmit": (NO, YES, YES),
    "droid: 3 PreToolUse (Create)": (NO, FIRST, FIRST),
    "droid: 5 PostToolUse (Create)": NEVER,
    "droid: 6 PreToolUse (Read)": NEVER,
    "droid: 7 PostToolUse (Read)": NEVER,
    "droid: 8 PreToolUse (Edit)": (NO, FIRST, FIRST),
    "droid: 9 PostToolUse (Edit)": NEVER,
    "droid: 10 PreToolUse (Execute)": (NO, NO, YES),
    "droid: 11 PostToolUse (Execute)": (NO, NO, YES),
    "droid: 12 Stop": (NO, YES, YES),
    "droid: 13 SessionStart (resume)": (NEW, NEW, NEW),
    "droid: 15 SessionEnd (other)": NEVER,
}
# Events for which Rewind registers nothing, and has no action.
UNUSED = {"CwdChanged", "InstructionsLoaded", "MessageDisplay", "Notification", "PermissionRequest",
          "PostCompact", "PostToolBatch", "PostToolUseFailure", "PreCompact", "StopFailure", "SubagentStart",
          "SubagentStop", "UserPromptExpansion"}
CASES = recorded()
USED = [case for case in CASES if case.event in ACTIONS]
EACH = [pytest.param(case, tier, wanted, id=f"{tier}: {case!r}")
        for case in USED for tier, wanted in zip(TIERS, EXPECTED[repr(case)])]


def test_every_recorded_payload_is_in_the_table() -> None:
    assert {repr(case) for case in USED} == set(EXPECTED)
    assert {case.event for case in CASES} - set(ACTIONS) == UNUSED


def test_rewind_registers_only_the_classic_events() -> None:
    for tier in TIERS:
        assert set(load_tier(tier)["hooks"]) <= set(EVENTS.values())


def decision(event: HookEvent, hooks: Hooks, tier: str, *, known: bool = False, **state: Any) -> Decision:
    settings, _ = load_usable(str(hooks.rewind_home), None)
    return decide(event, a_state(hooks, **state), settings, load_tier(tier), hooks.clock, known_session=known)


def a_state(hooks: Hooks, **values: Any) -> HookState:
    state = HookState(str(hooks.home / "no-such-file"))
    for name, value in values.items():
        setattr(state, name, value)
    return state


def event_of(case: Case, hooks: Hooks) -> HookEvent:
    event = read_event(ACTIONS[case.event], case.payload(hooks.home, hooks.project), {})
    assert event is not None and event.profile.name == case.agent
    return event


@pytest.mark.parametrize(("case", "tier", "wanted"), EACH)
def test_a_recorded_payload_gives_the_decision_of_its_tier(bare: Hooks, case: Case, tier: str,
                                                           wanted: str) -> None:
    bare.configure(tier=tier)
    event = event_of(case, bare)
    found = decision(event, bare, tier)
    assert found.checkpoint == (wanted in (YES, NEW)), found.skip_reason
    assert found.save_unprotected == (wanted == FIRST)
    assert decision(event, bare, tier, known=True).checkpoint == (wanted == YES)
    assert bool(found.skip_reason) != found.checkpoint


@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
def test_the_recorded_payloads_make_those_checkpoints_in_a_real_project(bare: Hooks, tier: str) -> None:
    bare.protect(tier)
    (bare.home / ".factory/temp/env").mkdir(parents=True)
    made, known = 1, set()
    for case in USED:
        (bare.state / "hook-state.json").unlink(missing_ok=True)
        payload = case.payload(bare.home, bare.project)
        outcome = handle(ACTIONS[case.event], json.dumps(payload).encode(), {})
        assert (outcome.code, outcome.out, outcome.err) == (0, "", ""), case
        wanted = EXPECTED[repr(case)][TIERS.index(tier)]
        if wanted == YES or (wanted == NEW and payload["session_id"] not in known):
            made += 1
            known.add(payload["session_id"])
            assert bare.last().trigger["event"] == case.event
            assert bare.last().trigger["session"] == payload["session_id"]
        assert bare.count() == made, case
    assert not bare.log()


@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_a_payload_told_twice_is_decided_once(bare: Hooks, agent: str) -> None:
    """Where the client gives the event an id; otherwise the distance between checkpoints must do."""
    for case in USED:
        event = event_of(case, bare)
        if case.agent == agent and event.key():
            found = decision(event, bare, "aggressive", seen=[event.key()])
            assert not found.checkpoint and not found.save_unprotected, case


# anti-spam

@pytest.mark.parametrize(("tier", "seconds"), [("balanced", 30), ("aggressive", 15)])
def test_edits_are_held_back_for_as_long_as_the_tier_says(bare: Hooks, tier: str, seconds: int) -> None:
    bare.configure(tier=tier)
    event = bare.event("PreToolUse", tool_name="Write", tool_input={"file_path": "b", "content": LONG})
    for ago, wanted in ((0, False), (seconds - 1, False), (seconds, True), (seconds + 1, True)):
        found = decision(event, bare, tier, last_checkpoint=bare.clock - ago)
        assert found.checkpoint == wanted, ago
        assert found.save_unprotected == (not wanted)


def test_shell_commands_are_held_back_too(bare: Hooks) -> None:
    bare.configure(tier="aggressive")
    for when in ("Pre", "Post"):
        event = bare.event(f"{when}ToolUse", tool_name="Bash", tool_input={"command": "make"})
        assert not decision(event, bare, "aggressive", last_checkpoint=bare.clock - 3).checkpoint
        assert decision(event, bare, "aggressive", last_checkpoint=bare.clock - 16).checkpoint


@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop", "SessionStart"])
def test_prompts_ends_of_turns_and_beginnings_are_never_held_back(bare: Hooks, name: str) -> None:
    event = bare.event(name, prompt="again", source="startup")
    assert decision(event, bare, "balanced", last_checkpoint=bare.clock).checkpoint


def test_anti_spam_can_be_switched_off(bare: Hooks) -> None:
    bare.configure(runtime={"antiSpam": {"enabled": False}})
    event = bare.event("PreToolUse", tool_name="Write", tool_input={"file_path": "b", "content": LONG})
    assert decision(event, bare, "balanced", last_checkpoint=bare.clock).checkpoint


def test_a_clock_that_was_set_back_holds_nothing_up(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="Write", tool_input={"file_path": "b", "content": LONG})
    assert decision(event, bare, "balanced", last_checkpoint=bare.clock + 86400).checkpoint


@pytest.mark.parametrize("value", [1e308, -1e308, 0.0])
def test_no_time_of_a_last_checkpoint_upsets_it(bare: Hooks, value: float) -> None:
    event = bare.event("PreToolUse", tool_name="Write", tool_input={"file_path": "b", "content": LONG})
    assert decision(event, bare, "balanced", last_checkpoint=value).checkpoint


# significance

@pytest.mark.parametrize(("size", "wanted"), [(0, False), (49, False), (50, True), (51, True)])
def test_an_edit_below_the_limit_is_not_worth_a_checkpoint_by_itself(bare: Hooks, size: int,
                                                                     wanted: bool) -> None:
    event = bare.event("PreToolUse", tool_name="Edit", tool_input={
        "file_path": "/a/long/path/that/does/not/count/however/many/characters/it/has.txt",
        "old_string": "", "new_string": "y" * size})
    assert decision(event, bare, "balanced").checkpoint == wanted


def test_what_an_edit_takes_away_counts_as_much_as_what_it_adds(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="Edit", tool_input={
        "file_path": "b", "old_string": LONG, "new_string": ""})
    assert decision(event, bare, "balanced").checkpoint


def test_the_edits_of_a_multi_edit_count_together(bare: Hooks) -> None:
    edits = [{"old_string": "a", "new_string": "b" * 20}] * 3
    event = bare.event("PreToolUse", tool_name="MultiEdit", tool_input={"file_path": "b", "edits": edits})
    assert decision(event, bare, "balanced").checkpoint


def test_significance_can_be_set_and_switched_off(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="Edit", tool_input={
        "file_path": "b", "old_string": "", "new_string": "12345"})
    for setting, wanted in (({"enabled": False}, True), ({"minChangeSize": 5}, True),
                            ({"minChangeSize": 6}, False)):
        bare.configure(runtime={"significance": setting})
        assert decision(event, bare, "balanced").checkpoint == wanted, setting


def test_a_shell_command_is_never_too_small(bare: Hooks) -> None:
    event = bare.event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert decision(event, bare, "aggressive").checkpoint


# prompts

@pytest.mark.parametrize("text", ["<task-notification>\n<task-id>a</task-id>", "  <task-notification>"])
def test_a_machines_prompt_makes_no_checkpoint(bare: Hooks, text: str) -> None:
    assert not decision(bare.event("UserPromptSubmit", prompt=text), bare, "balanced").checkpoint


@pytest.mark.parametrize("text", ["<bash-stdout>npm ERR! fix this", "Stop hook feedback: why do I see this?",
                                  "This session is being continued by me", "Caveat: The messages below"])
def test_a_prompt_that_begins_like_the_clients_own_words_is_a_persons(bare: Hooks, text: str) -> None:
    assert decision(bare.event("UserPromptSubmit", prompt=text), bare, "balanced").checkpoint


def test_a_prompt_that_only_mentions_a_notification_is_a_persons(bare: Hooks) -> None:
    event = bare.event("UserPromptSubmit", prompt="What does <task-notification> mean?")
    assert decision(event, bare, "balanced").checkpoint


def test_a_queued_prompt_is_not_taken_for_the_one_that_runs(bare: Hooks) -> None:
    running = bare.event("UserPromptSubmit", prompt="first", prompt_id="p1")
    queued = bare.event("UserPromptSubmit", prompt="second", prompt_id="p1")
    assert decision(queued, bare, "balanced", seen=[running.key()]).checkpoint
    assert not decision(queued, bare, "balanced", seen=[running.key(), queued.key()]).checkpoint


def test_a_turn_that_a_stop_hook_prolongs_is_saved_at_its_real_end(bare: Hooks) -> None:
    """Somebody's Stop hook says "go on" (exit 2): the same prompt ends twice, with other files."""
    first = bare.event("Stop", prompt_id="p1", stop_hook_active=False, last_assistant_message="Done.")
    second = bare.event("Stop", prompt_id="p1", stop_hook_active=True, last_assistant_message="Tests pass.")
    assert decision(second, bare, "balanced", seen=[first.key()]).checkpoint


# descriptions

@pytest.mark.parametrize(("name", "fields", "wanted"), [
    ("SessionStart", {"source": "startup"}, "Session began"),
    ("SessionStart", {"source": "compact"}, "Session (compact)"),
    ("UserPromptSubmit", {"prompt": "Fix  the\nbug"}, "Before: Fix the bug"),
    ("Stop", {}, "After: Fix it"),
    ("PreToolUse", {"tool_name": "Write", "tool_input": {"file_path": "/p/app.py", "content": LONG}},
     "Before Write of app.py"),
    ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "rm  -rf\nbuild"}},
     "Before running rm -rf build"),
    ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "make"}}, "After running make"),
])
def test_a_checkpoint_is_described_in_a_few_words(bare: Hooks, name: str, fields: dict[str, Any],
                                                  wanted: str) -> None:
    found = decision(bare.event(name, **fields), bare, "aggressive",
                     prompts={bare.session: "Fix it", "another": "Break it"})
    assert found.checkpoint and found.description == wanted


def test_a_long_prompt_is_cut_to_one_short_line(bare: Hooks) -> None:
    found = decision(bare.event("UserPromptSubmit", prompt="word " * 100_000), bare, "balanced")
    assert len(found.description) <= 72 and found.description.endswith("…")
