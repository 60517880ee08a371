"""The files at any point: the tree with its heat, one file's history, and who wrote each line."""

from __future__ import annotations

import os
from typing import Any

from web.scene import Shop
from web.site import Site


def tree(site: Site, **query: Any) -> dict[str, dict[str, Any]]:
    return {one["path"]: one for one in site.get("/api/files", **query)["entries"]}


def after(site: Site, turn: int) -> str:
    return str(site.of_session("shape")["turns"][turn - 1]["to"])


def test_the_tree_of_now_tells_how_often_each_file_changed(site: Site) -> None:
    found = site.get("/api/files")
    assert found["point"] == {"name": "now", "words": "now", "createdAt": None, "prompt": None}
    assert found["complete"] and found["most"] == 3 and found["gone"] == 0 and found["more"] == 0
    files = {one["path"]: one["changes"] for one in found["entries"] if one["kind"] == "file"}
    assert (files["a.txt"], files["b.txt"], files["c.txt"]) == (3, 1, 1)
    last = tree(site)["a.txt"]["last"]
    assert last["checkpoint"] == after(site, 4) and last["createdAt"]


def test_the_tree_of_a_checkpoint_is_that_of_then(site: Site) -> None:
    found = site.get("/api/files", at=after(site, 1))
    assert found["point"]["words"] == "after turn 1"
    assert found["point"]["prompt"] == {"sessionId": site.session, "turn": 1, "text": "one"}
    names = [one["path"] for one in found["entries"]]
    assert "a.txt" in names and "b.txt" not in names and "c.txt" not in names
    before = site.of_session("shape")["turns"][1]["from"]
    assert site.get("/api/files", at=before)["point"]["words"] == "before turn 2"
    site.fails(404, "/api/files", at="last")
    site.fails(404, "/api/files", at="20200101_000000_001")


def test_folders_come_first_and_are_as_hot_as_what_is_in_them(site: Site, shop: Shop) -> None:
    folder = shop.cli.project / "src" / "deep"
    folder.mkdir(parents=True)
    (folder / "x.py").write_text("1\n")
    shop.work("five", a="5")
    (folder / "x.py").write_text("2\n")
    shop.work("six", a="6")
    entries = site.get("/api/files")["entries"]
    kinds = [one["kind"] for one in entries]
    assert kinds == sorted(kinds, key=lambda kind: kind != "folder")
    source = tree(site)["src"]
    assert (source["kind"], source["changes"]) == ("folder", 2)
    assert tree(site, under="src")["src/deep"]["hottest"] == 2
    assert tree(site, under="src/deep")["src/deep/x.py"]["name"] == "x.py"
    assert list(tree(site, q="X.P")) == ["src/deep/x.py"]
    site.fails(404, "/api/files", under="nothing")
    site.fails(404, "/api/files", under="a.txt")
    site.fails(400, "/api/files", under="../x")


def test_what_was_deleted_is_listed_when_it_is_asked_for(site: Site, shop: Shop) -> None:
    (shop.cli.project / "b.txt").unlink()
    folder = shop.cli.project / "old"
    folder.mkdir()
    (folder / "y.txt").write_text("y")
    shop.work("five", a="5")
    (folder / "y.txt").unlink()
    folder.rmdir()
    shop.work("six", a="6")
    assert site.get("/api/files")["gone"] == 2 and "b.txt" not in tree(site)
    found = tree(site, gone="yes")
    assert found["b.txt"]["gone"] and found["b.txt"]["changes"] == 2
    assert (found["old"]["kind"], found["old"]["gone"]) == ("folder", True)
    assert tree(site, gone="yes", under="old")["old/y.txt"]["gone"]
    assert list(tree(site, gone="yes", q="y.txt")) == ["old/y.txt"]


def test_a_files_history_is_that_of_rewind_log(site: Site, shop: Shop) -> None:
    found = site.get("/api/files/log", path="a.txt")
    assert not found["more"] and not found["leftOut"]
    changes = found["changes"]
    assert [one["prompt"]["text"] for one in changes] == ["four", "two", "one"]
    assert [one["status"] for one in changes] == ["modified", "modified", "added"]
    assert (changes[0]["added"], changes[0]["removed"]) == (1, 1)
    assert changes[0]["prompt"]["sessionId"] == site.session and changes[0]["checkpoint"] == after(site, 4)
    by_cli = shop.cli.json("log", "a.txt")["changes"]
    assert [one["checkpoint"] for one in by_cli] == [one["checkpoint"] for one in changes]
    assert len(site.get("/api/files/log", path="a.txt", count=2)["changes"]) == 2
    assert site.get("/api/files/log", path="a.txt", count=2)["more"]
    site.does("restore_checkpoint", name=after(site, 1), paths=["a.txt"])
    newest = site.get("/api/files/log", path="a.txt")["changes"][0]
    assert newest["operation"] and newest["text"]
    assert site.get("/api/files/log", path="never.txt")["changes"] == []
    site.fails(400, "/api/files/log", path="/etc/passwd")


def test_each_line_has_the_prompt_that_wrote_it(site: Site, shop: Shop) -> None:
    path = shop.cli.project / "lines.py"
    path.write_text("def one():\n    return 1\n")
    shop.work("five", a="5")
    shop.save("UserPromptSubmit", promptId="p6", promptText="six")
    shop.talk.prompt("six", promptId="p6")
    path.write_text("def one():\n    return '<b>'\n")
    shop.talk.answer("ok")
    shop.flush()
    shop.save("Stop", promptId="p6")
    path.write_text("def one():\n    return '<b>'\n# by me\n")
    found = site.get("/api/files/blame", path="lines.py")
    assert (found["total"], found["from"], len(found["lines"])) == (3, 1, 3)
    assert "&lt;b&gt;" in found["lines"][1] and "<b>" not in found["lines"][1]
    first, second, third = found["runs"]
    assert (first["who"], first["lines"]) == ("you", 1)
    assert (second["who"], second["turn"], second["prompt"]) == ("agent", 6, "six")
    assert second["sessionId"] == site.session and second["saved"] and second["at"]
    assert (third["who"], third["saved"], third["checkpoint"]) == ("you", False, None)
    then = site.get("/api/files/blame", path="lines.py", at=after(site, 6))
    assert then["total"] == 2 and then["point"]["words"] == "after turn 6"
    assert site.get("/api/files/blame", path="lines.py", **{"from": 3})["lines"] == found["lines"][2:]


def test_what_has_no_lines_says_why(site: Site, shop: Shop) -> None:
    (shop.cli.project / "picture.png").write_bytes(b"\x89PNG\0\0")
    shop.work("five", a="5")

    def why(path: str, at: str = "now") -> Any:
        found = site.get("/api/files/blame", path=path, at=at)
        assert (found["total"], found["lines"], found["runs"]) == (0, [], [])
        return found["why"]

    assert why("picture.png")["there"] and "binary" in why("picture.png")["message"]
    assert not why("b.txt", after(site, 1))["there"] and not why("never.txt")["there"]
    assert site.get("/api/files/blame", path="a.txt")["why"] is None
    site.fails(400, "/api/files/blame", path="a.txt", **{"from": "x"})


def test_names_that_are_not_utf8_are_understood(site: Site, shop: Shop) -> None:
    folder = os.fsencode(shop.cli.project)
    with open(folder + b"/caf\xe9.txt", "w") as file:
        file.write("1\n")
    shop.work("five", a="5")
    name = next(path for path in tree(site) if path.startswith("caf"))
    assert name == "caf\\xe9.txt"
    assert site.get("/api/files/blame", path=name)["total"] == 1
    assert len(site.get("/api/files/log", path=name)["changes"]) == 1
