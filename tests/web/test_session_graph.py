"""How sessions part: the agents' own rewinds, and where the files stand; forks are in their list."""

from __future__ import annotations

from web.scene import Shop
from web.site import Site


def test_it_tells_where_the_files_stand(site: Site, shop: Shop) -> None:
    assert site.get("/api/graph") == {"here": {"sessionId": site.session, "turn": 4}, "rewinds": []}
    (shop.cli.project / "a.txt").write_text("by hand")
    site.does("save_checkpoint", description="by hand")
    assert site.get("/api/graph")["here"]["turn"] == 4


def test_it_moves_with_a_restore(site: Site) -> None:
    turns = site.of_session("shape")["turns"]
    site.does("restore_checkpoint", name=turns[2]["from"])
    assert site.get("/api/graph")["here"] == {"sessionId": site.session, "turn": 2}


def test_it_tells_where_an_agent_went_back_by_itself(site: Site, shop: Shop) -> None:
    at = shop.talk.here
    shop.work("five", a="5")
    shop.work("six", a="6")
    shop.talk.here = at
    shop.work("instead of five", a="7")
    found = site.get("/api/graph")
    (one,) = found["rewinds"]
    assert (one["sessionId"], one["turn"], one["left"], one["prompt"]) == (site.session, 4, 2, "five")
    assert found["here"] == {"sessionId": site.session, "turn": 5}


def test_a_rewind_to_before_the_first_turn(site: Site, shop: Shop) -> None:
    shop.talk.here = None
    shop.work("all anew", a="9")
    (one,) = site.get("/api/graph")["rewinds"]
    assert (one["turn"], one["left"], one["prompt"]) == (0, 4, "one")
