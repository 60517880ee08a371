"""Which agents are there, and whether they call Rewind."""

from __future__ import annotations

import json
from typing import Any

from rewind.config.load import load_tier
from rewind.install.agent_settings.register import register
from rewind.install.machine.installer import agents_named
from web.scene import Shop
from web.site import Site


def agents(site: Site) -> dict[str, Any]:
    found = site.get("/api/setup")
    assert found["register"] == "rewind config --register-hooks"
    return {one["name"]: (one["used"], one["hooks"]) for one in found["agents"]}


def test_an_agent_that_was_never_used_is_told_apart_from_one_without_hooks(site: Site, shop: Shop) -> None:
    found = agents(site)
    assert found["claude"] == (True, "missing") and found["droid"] == (False, "missing")
    (shop.cli.home / ".factory").mkdir()
    assert agents(site)["droid"] == (True, "missing")


def test_hooks_that_are_registered_turned_off_or_unreadable_are_known(site: Site, shop: Shop) -> None:
    settings = shop.cli.home / ".claude" / "settings.json"
    home = str(shop.cli.home / ".rewind")
    register(agents_named("claude", home)[0], load_tier("balanced"), "/opt/rewind/smart-checkpoint")
    assert agents(site)["claude"] == (True, "registered")
    written = json.loads(settings.read_text())
    settings.write_text(json.dumps({**written, "disableAllHooks": True}))
    assert agents(site)["claude"] == (True, "off")
    settings.write_text("{ no JSON")
    assert agents(site)["claude"] == (True, "unknown")
