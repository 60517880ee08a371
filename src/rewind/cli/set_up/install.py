"""Set Rewind up for you: the command, the library that hooks run from, and the hooks of your agents.

On a terminal it asks for the tier and for each agent it finds; without one, or with `--yes`, it takes the
defaults. Over an existing installation it is an upgrade: your settings stay, and hooks are registered
again only if you say yes.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note
from rewind.cli.output.ask import ask_choice, ask_yes, has_terminal
from rewind.cli.output.style import paint
from rewind.cli.protect.hook_options import hooks_json
from rewind.controller import BY_KEY, hooks_home, load_tier
from rewind.errors import DONE, PARTIAL, UsageError
from rewind.install.machine.installer import (
    Installed,
    Plan,
    Registered,
    agents_found,
    agents_named,
    install,
    registered_agents,
)
from rewind.install.machine.library import own_package
from rewind.paths import rewind_home
from rewind.words import from_home, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.cli.protect.hook_options import HooksJson

    class InstallJson(TypedDict):
        version: str
        upgrade: bool
        system: str
        python: str | None
        link: str | None
        tier: str
        hooks: list[HooksJson]
        plugins: list[str]
        ui: bool
        warnings: list[str]
        dryRun: bool

summary = "set up the command and the hooks of your agents, or upgrade them"
examples = ("rewind install", "rewind install --yes --tier aggressive --agents claude",
            "rewind install --dry-run")
TIERS = BY_KEY["tier"].choices


def arguments(parser: Parser) -> None:
    parser.add_argument("--yes", action="store_true", help="ask nothing, take the defaults")
    parser.add_argument("--tier", choices=TIERS, help="how often checkpoints are taken (default: balanced)")
    parser.add_argument("--agents", metavar="A,B",
                        help="register hooks with these, such as claude,codex (default: those found)")
    parser.add_argument("--no-hooks", action="store_true", help="register hooks with no agent")
    parser.add_argument("--no-plugin", action="store_true",
                        help="leave out the commands inside Claude Code (/goback, /goforward, /timeline)")
    parser.add_argument("--with-ui", action="store_true",
                        help="also install the packages of the two user interfaces (from the network)")
    parser.add_argument("--no-ui", action="store_true", help="do not install those packages")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: Args) -> int:
    plan = _plan(args)
    if args.dry_run:
        return answer(args, _json(plan, None), lambda: _show(plan))
    done = install(plan, sys.argv[0], note)
    _warn_path(done)
    return answer(args, _json(plan, done), lambda: _report(done), code=DONE if done.is_complete else PARTIAL)


# what to do

def _plan(args: Args) -> Plan:
    for one, other in (("agents", "no_hooks"), ("with_ui", "no_ui")):
        if getattr(args, one) and getattr(args, other):
            raise UsageError(f"--{one} and --{other} contradict each other.".replace("_", "-"),
                             hint="Give one of them.")
    plan = Plan(rewind_home())
    asking = has_terminal() and not (args.yes or args.dry_run or args.json)
    _choose_tier(plan, args, asking)
    if args.agents:
        plan.agents, plan.named = agents_named(args.agents, plan.home), True
    elif not args.no_hooks:
        _choose_agents(plan, args, asking)
    plan.plugin = not args.no_plugin
    plan.ui = args.with_ui or (asking and not args.no_ui and _has_ui() and not os.path.isdir(plan.system.venv)
                               and ask_yes("Install the packages for the terminal and web interfaces from"
                                           " the network?", default=False))
    return plan


def _choose_tier(plan: Plan, args: Args, asking: bool) -> None:
    if args.tier:
        plan.tier, plan.write_tier = args.tier, True
    elif asking and not plan.tier_is_set:
        note("How often should checkpoints be taken?")
        for tier in TIERS:
            note(f"  {tier:<11} {load_tier(tier)['description']}")
        plan.tier = ask_choice("Tier", TIERS, plan.tier)


def _choose_agents(plan: Plan, args: Args, asking: bool) -> None:
    found = agents_found(plan.home)
    if asking:
        again = {profile.name for profile in registered_agents(plan.home)} if plan.is_upgrade else set()
        for profile in found:
            words = "Register the hooks again with" if profile.name in again else "Register hooks with"
            if ask_yes(f"{words} {profile.title} ({from_home(hooks_home(profile) or '')})?",
                       default=not plan.is_upgrade):
                plan.agents.append(profile)
    elif args.yes or not plan.is_upgrade:
        plan.agents = found
    elif args.tier:
        plan.agents = registered_agents(plan.home)  # a tier means nothing without its hooks


def _has_ui() -> bool:
    return any(os.path.isdir(os.path.join(own_package(), room)) for room in ("tui", "web"))


# what was done

def _warn_path(done: Installed) -> None:
    if not done.link:
        return
    folder = os.path.dirname(done.link)
    if folder not in os.environ.get("PATH", "").split(os.pathsep):
        done.warnings.append(f'{folder} is not on your PATH. Add to your shell\'s profile:'
                             f' export PATH="$HOME/.local/bin:$PATH"')
    elif os.path.realpath(shutil.which("rewind") or done.link) != os.path.realpath(done.link):
        done.warnings.append(f"Another `rewind` comes first on your PATH: {shutil.which('rewind')}")


def _report(done: Installed) -> None:
    plan = done.plan
    before = f", upgraded from {done.previous}" if done.previous else ""
    where = from_home(plan.system.folder)
    print(f"{paint('Installed', 'green')} Rewind {plan.version} in {where}{before}")
    if done.link:
        print(f"  command  {from_home(done.link)}")
    for one in done.hooks:
        where = ", ".join(from_home(file) for file in one.files) or "as they were"
        print(f"  hooks    {one.profile.title}: " + (safe(one.problem) if one.problem else where))
    for folder in done.plugins:
        print(f"  plugin   {from_home(folder)}: /goback, /goforward, /timeline")
    if done.hooks:
        print(f"  tier     {plan.tier}")
    if done.ui:
        print("  ui       installed")
    for warning in (*plan.config_problems, *done.warnings):
        note(f"{paint('warning:', 'yellow', sys.stderr)} {safe(warning)}")
    _next_step(done)


def _next_step(done: Installed) -> None:
    plan = done.plan
    if not done.is_complete:
        calls = "" if registered_agents(plan.home) else "No agent calls Rewind yet. "
        print(f"{calls}Fix the problem above, then run `rewind config --register-hooks`.")
    elif not registered_agents(plan.home):
        print("No agent calls Rewind yet. To register the hooks: rewind config --register-hooks")
    elif plan.auto_init == "never":
        print("Next: cd your-project && rewind init")
    elif plan.auto_init == "git":
        print("Git projects need nothing more: your agent's next session there is protected."
              " Elsewhere: cd your-project && rewind init")


def _show(plan: Plan) -> None:
    verb = "upgrade" if plan.is_upgrade else "install"
    print(f"Would {verb} Rewind {plan.version} in {from_home(plan.system.folder)}")
    print(f"  command  {from_home(plan.system.link)}")
    for profile in plan.agents:
        print(f"  hooks    {profile.title}: {from_home(hooks_home(profile) or '')}")
    print(f"  tier     {plan.tier}")
    if plan.ui:
        print("  ui       to be installed from the network")


def _json(plan: Plan, done: Installed | None) -> InstallJson:
    hooks = done.hooks if done else [Registered(profile, []) for profile in plan.agents]
    return {"version": plan.version, "upgrade": plan.is_upgrade, "system": plan.system.folder,
            "python": done.python if done else None, "link": done.link if done else None, "tier": plan.tier,
            "hooks": hooks_json(hooks), "plugins": done.plugins if done else [],
            "ui": done.ui if done else plan.ui,
            "warnings": [*plan.config_problems, *(done.warnings if done else ())], "dryRun": done is None}
