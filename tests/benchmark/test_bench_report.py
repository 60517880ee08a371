"""Results as data, text, tables, plots and pages: made, merged, redrawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import document
from bench.plots import all_plots
from bench.report import as_text
from bench.result import Result, RowResult, load, make_result, merge, save
from bench.rows.registry import ROWS
from bench.rows.row import Amount, Checks, Contest, Curve, Outcome, Row, Step
from bench.tables import contest_table, fidelity_table, growth_table, losses, ratio_table
from bench.workplace import Options

CHECKOUT = Path(__file__).resolve().parents[2]
MACHINE = {"system": "Linux 6.1", "processor": "x86_64", "cores": 2, "memory_gb": 8, "disk": "ext4 on a disk",
           "python": "3.11.7", "git": "2.39.5"}


def ms(value: float) -> Amount:
    return Amount(value, "ms", value * 1.2, 20)


def row(name: str, budget: float | None = None, group: str = "speed", what: str = "") -> Row:
    return Row(name, what or f"{name} <&> `it`", budget, lambda place: [], group)


def curve(limit: float | None, *values: float) -> Curve:
    steps = tuple(Step(10.0**number, ms(value)) for number, value in enumerate(values, 1))
    return Curve("files-save", "`rewind save`", "files", steps, limit)


@pytest.fixture
def result(options: Options) -> Result:
    contest = Contest("edit-1", "snapshot, 1 file", {"git": ms(50), "rewind": ms(100), "tar": ms(400)},
                      {"borg": "borg is not installed"}, {"git": "2.39", "rewind": "0.1"})
    lines = [
        RowResult(row("fast", 1.3), [Outcome(0.5, ms(50), ms(100), floor=0.4)]),
        RowResult(row("slow", 1.0), [Outcome(2.5, ms(250), ms(100), "a note", 1.2)]),
        RowResult(row("free"), [Outcome(0.02, Amount(2, "MB"), Amount(100, "MB"))]),
        RowResult(row("broken", 1.0), problem="CommandFailed: no | luck"),
        RowResult(row("cold", 1.0), skipped="no cold cache here"),
        RowResult(row("peers-edit-1", group="peers"), [contest]),
        RowResult(row("fidelity-rewind", group="fidelity"),
             [Checks("rewind", "0.1", {"edited": "yes", "mtime": "no", "latin": "yes"})]),
        RowResult(row("fidelity-rsync", group="fidelity"),
             [Checks("rsync", "3.2", {"edited": "yes", "mtime": "yes", "latin": "fails"})]),
        RowResult(row("growth-files", group="growth"),
             [curve(12.0, 10, 50, 500), curve(12.0, 10, 150, 160), curve(None, 10, 9000)]),
    ]
    return make_result(lines, options, MACHINE)


def verdicts(result: Result) -> dict[str, str]:
    return {found["name"]: found["verdict"] for found in result["rows"]}


def test_verdicts_follow_from_budgets_and_limits(result: Result) -> None:
    found = verdicts(result)
    assert [found[name] for name in ("fast", "slow", "free", "broken", "cold")] == \
        ["PASS", "MISS", "info", "FAIL", "SKIP"]
    assert found["peers-edit-1"] == "info"
    assert found["growth-files"] == "MISS"


def test_a_step_that_costs_more_than_its_limit_is_a_miss() -> None:
    assert curve(12.0, 10, 120).verdict == "PASS" and curve(12.0, 10, 121).verdict == "MISS"
    assert curve(None, 10, 999).verdict == "info"
    assert curve(12.0, 10, 50, 500).factors == [5.0, 10.0]


def test_the_text_has_ratios_first_and_says_what_was_not_measured(result: Result) -> None:
    text = as_text(result)
    titles = ("Ratios", "Everyone", "Brought back", "Growth", "Absolute", "Not measured")
    order = [text.index(title) for title in titles]
    assert order == sorted(order)
    assert re.search(r"^ +2\.500 +≤ 1\.0 +MISS +slow .*\(floor 1\.20\)$", text, re.M)
    assert "FAIL: CommandFailed: no | luck" in text and "SKIP: no cold cache here" in text


def test_tables_say_how_many_times_ours_a_tool_took_and_who_is_missing(result: Result) -> None:
    table = contest_table(result)
    cells = {line[0]: line[1] for line in table.rows}
    assert next(iter(cells)) == "rewind"
    assert cells == {"rewind": "100 ms", "git": "50.0 ms (0.5×)", "tar": "400 ms (4.0×)", "borg": "–"}
    assert table.notes == ["borg is missing: borg is not installed"]
    assert fidelity_table(result).rows[-1] == ["of 3", "2", "2"]
    assert ratio_table(result).rows[1][1:5] == ["2.50", "≤ 1", "MISS", "1.20"]
    assert ratio_table(result).rows[0][1:5] == ["0.50", "≤ 1.3", "PASS", ""]
    older = ratio_table({**result, "before": {"slow": 3.0}})
    assert older.head[1] == "before" and [line[1] for line in older.rows] == ["–", "3.00", "–"]
    assert [line[4] for line in growth_table(result).rows] == ["5.00×, 10.00×", "15.00×, 1.07×", "900.00×"]


def test_losses_name_each_place_where_another_is_better(result: Result) -> None:
    found = "\n".join(losses(result))
    for part in ("slow", "15.0×", "git 50.0", "its old time"):
        assert part in found
    for part in ("fast", "free", "tar", "900", "not UTF-8"):
        assert part not in found


def test_rows_of_a_later_run_take_the_place_of_earlier_ones(
    result: Result, tmp_path: Path, options: Options
) -> None:
    names = [found["name"] for found in result["rows"]]
    save(result, tmp_path / "result.json")
    later = make_result([RowResult(row("slow", 1.0), [Outcome(0.9, ms(90), ms(100))]),
                         RowResult(row("added"), [Outcome(0.9, ms(90), ms(100))])], options, MACHINE)
    merged = merge(load(tmp_path / "result.json"), later, [*names, "added"])
    assert [found["name"] for found in merged["rows"]] == [*names, "added"]
    assert verdicts(merged) == {**verdicts(result), "slow": "PASS", "added": "info"}


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"rows": []}')
    with pytest.raises(SystemExit, match="not a result"):
        load(tmp_path / "old.json")


def test_plots_are_well_formed_and_follow_the_colour_scheme(result: Result) -> None:
    plots = all_plots(result)
    assert set(plots) == {"bench-ratios.svg", "bench-peers.svg", "bench-growth.svg"}
    for svg in plots.values():
        root = ElementTree.fromstring(svg)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        assert "prefers-color-scheme: dark" in svg
        for shape in root.iter():
            for name, most in (("x", width), ("x2", width), ("cx", width), ("y", height), ("cy", height)):
                assert 0 <= float(shape.attrib.get(name, 0)) <= most, (shape.tag, shape.attrib)
            assert float(shape.attrib.get("x", 0)) + float(shape.attrib.get("width", 0)) <= width
    assert "slow &lt;&amp;&gt; it" in plots["bench-ratios.svg"]


def test_nothing_is_drawn_of_what_was_not_measured(options: Options) -> None:
    empty = make_result([], options, MACHINE)
    assert all_plots(empty) == {}
    assert "Ratios" not in as_text(empty)
    assert set(document.sections(empty, set()).values()) >= {document.NOTHING}


def test_rows_that_were_not_run_are_named(result: Result) -> None:
    told = document.sections(result, set())["problems"]
    there = {row["name"] for row in result["rows"]}
    assert all((f"`{row.name}`" in told.partition("not run")[2]) is (row.name not in there) for row in ROWS)


def test_the_page_is_redrawn_between_its_markers_only(result: Result, tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "benchmarks.md").read_text()
    (tmp_path / "benchmarks.md").write_text(page)
    written = document.write(result, tmp_path)
    new = (tmp_path / "benchmarks.md").read_text()
    assert without_parts(new) == without_parts(page)
    assert "| slow <&> `it` | 2.50 | ≤ 1 | MISS | 1.20 |" in new and "no | luck" in new
    assert all(path.exists() for path in written) and len(written) == 4
    for name in re.findall(r"\]\((images/bench-[^)]+)\)", new):
        assert (tmp_path / name).exists()
    document.write(result, tmp_path)
    assert (tmp_path / "benchmarks.md").read_text() == new


def test_a_page_without_a_marker_is_refused() -> None:
    with pytest.raises(SystemExit, match="bench:machine"):
        document.fill("Nothing here.", {"machine": "x"})


def test_every_row_is_in_the_documentation() -> None:
    text = (CHECKOUT / "bench" / "README.md").read_text()
    known = set(re.findall(r"`([a-z0-9-]+)`", text))
    assert {found.name for found in ROWS} <= known
    assert len({found.name for found in ROWS}) == len(ROWS)


def without_parts(text: str) -> str:
    return re.sub(r"<!-- bench:(\w+) -->.*?<!-- /bench:\1 -->", r"<\1>", text, flags=re.S)


