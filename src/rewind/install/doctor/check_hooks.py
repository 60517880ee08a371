"""Do the agents call Rewind? For each agent: are the hooks registered, read and not turned off?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from rewind.agents.profile import Profile
from rewind.agents.registry import hooks_home
from rewind.agents.trust import is_trusted
from rewind.config.load import load_tier
from rewind.errors import PathNotText, ProfileInvalid, RewindError
from rewind.install.agent_settings.merger import MARK, Found, entries_for, is_text
from rewind.install.agent_settings.register import is_disabled, registered, shadowed
from rewind.install.doctor.finding import Finding, ok, problem, warning
from rewind.install.machine.installer import agents_found
from rewind.install.machine.system import System, script_in
from rewind.install.market_plugin import market_plugin

_REGISTER = "Run `rewind config --register-hooks`."


def check_hooks(system: System, tier: str, root: str | None) -> Iterator[Finding]:
    """`root`: the project, where hooks may be registered as well."""
    try:
        agents = agents_found(system.home)
    except ProfileInvalid as error:
        yield problem("profile", f"{error.message} Until then hooks do nothing.", error.hint)
        return
    if not agents:
        yield warning("hooks", "No agent has been used here yet, so none calls Rewind.",
                      "Start your agent once, then run `rewind config --register-hooks`.")
    looked = [AgentHooks(profile, root) for profile in agents]
    some_call_rewind = any(agent.found or agent.plugin for agent in looked)
    for agent in looked:
        yield from agent.findings(system, tier, some_call_rewind)


def lacks_hooks(home: str, tier: str, root: str | None) -> bool:
    """Whether an agent calls Rewind, but lacks some of the hooks of this tier."""
    try:
        looked = [AgentHooks(profile, root) for profile in agents_found(home)]
    except ProfileInvalid:
        return False
    return any(agent.found and not agent.has(tier) for agent in looked)


class AgentHooks:
    """The hooks in the files of one agent, those of the person and those of the project."""

    def __init__(self, profile: Profile, root: str | None) -> None:
        self.profile = profile
        self.scopes = [None, root] if root else [None]
        self.errors: list[RewindError] = []
        self.found: list[Found] = []
        self.hidden: list[Found] = []
        self.off: str | None = None
        self.plugin = market_plugin(profile)
        for scope in self.scopes:
            self._look(scope)

    def _look(self, scope: str | None) -> None:
        try:
            self.found += registered(self.profile, project=scope)
            self.hidden += shadowed(self.profile, project=scope)
        except RewindError as error:
            self.errors.append(error)
        try:
            self.off = self.off or is_disabled(self.profile, project=scope)
        except RewindError as error:
            if error.message not in {other.message for other in self.errors}:
                self.errors.append(error)

    def findings(self, system: System, tier: str, some_call_rewind: bool) -> Iterator[Finding]:
        name, title = f"hooks of {self.profile.name}", self.profile.title
        for error in self.errors:
            yield problem(name, error.message, error.hint)
        if self.off:
            yield problem(name, f"{title} runs no hooks at all: they are turned off in {self.off}",
                          f"Remove `{(self.profile.registration or {})['disabled']}` from that file.")
        if not self.found and self.plugin:
            if not self.off:
                yield ok(name, f"{title} calls Rewind through its plugin {self.plugin}")
            return
        if not self.found:
            if not self.errors:
                # A person may want Rewind for only one of several agents.
                make = warning if some_call_rewind else problem
                yield make(name, f"{title} does not call Rewind.", _REGISTER)
            return
        faults = list(self._faults(name, system, tier))
        yield from faults
        if not faults and not self.off and not self.errors:
            yield ok(name, f"{title} calls Rewind, tier {tier}")

    def _faults(self, name: str, system: System, tier: str) -> Iterator[Finding]:
        title = self.profile.title
        if self.hidden:
            events = ", ".join(sorted({one.event for one in self.hidden}))
            yield problem(name, f"{title} does not read Rewind's hooks for {events}: it reads these events"
                                f" from another file, beside {self.hidden[0].file}", _REGISTER)
        for script in sorted({script_in(one.command) for one in self.found}):
            if not is_text(script):
                yield problem(name, PathNotText(shim=script).message, PathNotText.hint)
            elif not os.access(script, os.X_OK):
                yield problem(name, f"{title} calls a script that is not there, or not executable: {script}",
                              "Run `rewind install`, then `rewind config --register-hooks`.")
            elif script != system.shim:
                yield warning(name, f"{title} calls another Rewind than the installed one: {script}",
                              _REGISTER)
        if not self.has(tier):
            yield warning(name, f"{title} lacks some hooks of tier {tier}.", _REGISTER)
        registration = self.profile.registration or {}
        needs = registration.get("needs")
        if needs and not os.path.isdir(os.path.join(hooks_home(self.profile) or "", needs)):
            yield warning(name, f"{title} has not fetched {os.path.basename(os.path.dirname(needs))}/"
                                f"{os.path.basename(needs)} yet, so its next start takes longer.",
                          "Start it once. If every start is slow, it cannot reach the npm registry.")
        if registration.get("consent"):
            yield from self._trust(name)
        yield from self._trust_in_folder(name)

    def _trust_in_folder(self, name: str) -> Iterator[Finding]:
        root = self.scopes[-1]
        if root and not is_trusted(self.profile, root):
            start = self.profile.commands["start"]
            yield problem(name, f"{self.profile.title} runs no hooks here, for you have not told it to trust"
                                f" {root}", f"Run `{start}` in that directory and choose to trust it.")

    def _trust(self, name: str) -> Iterator[Finding]:
        """Codex runs a hook once the person trusts it. This only looks; trusting is left to the person."""
        from rewind.agents.app_server import NoAnswer, hooks_of

        title, consent = self.profile.title, str((self.profile.registration or {})["consent"])
        try:
            hooks = hooks_of(self.profile, self.scopes[-1] or os.path.expanduser("~"))
        except NoAnswer as error:
            yield warning(name, f"{title} could not be asked whether you trust Rewind's hooks ({error}).",
                          consent)
            return
        ours = [hook for hook in hooks if MARK in str(hook.get("command"))]
        untrusted = [hook for hook in ours if hook.get("trustStatus") not in ("trusted", "managed")]
        if not ours:
            yield problem(name, f"{title} does not read Rewind's hooks. Its hooks.json may have an error.",
                          "Start `codex` in this directory: it says what is wrong.")
        elif untrusted:
            yield problem(name, f"{title} runs {len(ours) - len(untrusted)} of {len(ours)} hooks of Rewind:"
                                " you have not trusted the others.", consent)

    def has(self, tier: str) -> bool:
        """Whether every hook of the tier is there, by event, tools and action, whatever script it starts."""
        wanted = entries_for(load_tier(tier), self.profile, "/smart-checkpoint")
        there = {(one.event, one.matcher, one.command.rpartition(" ")[2]) for one in self.found}
        return all((event, group.get("matcher", ""), hook["command"].rpartition(" ")[2]) in there
                   for event, groups in wanted.items() for group in groups for hook in group["hooks"])
