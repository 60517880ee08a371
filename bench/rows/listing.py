"""`rewind list` in a project with a long history, against the bare start of Python."""

from __future__ import annotations

from bench import many
from bench.measure import interleave
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace

# The least that a list has to do: load SQLite, and see whether a record has changed.
_LOOK = """
import _sqlite3, os, sys
for name in os.listdir(sys.argv[1]):
    os.stat(f"{sys.argv[1]}/{name}/metadata.json")
"""


def _list(place: Workplace) -> Outcome:
    rewind = place.small_project("listed")
    wanted = place.options.listed
    many.make(rewind, place.options.python, "turns", wanted, place.options.sessions, place.home)
    if rewind.count() < wanted:
        raise Unfaithful(f"list shows {rewind.count()} of {wanted} checkpoints")

    def ours() -> None:
        rewind.run("list")

    ours()  # the first run counts lines, and later ones use its result
    floor = [place.options.python, "-I", "-S", "-c", _LOOK, str(rewind.state / "checkpoints")]
    taken = interleave({"ours": ours, "python": place.bare_python, "floor": lambda: place.spawner.run(floor)},
                       place.options.rounds)
    return compare(taken["ours"], taken["python"], floor=taken["floor"])


ROWS = [Row("list", "`list` by turns, 1,000 checkpoints of 50 sessions ÷ bare start", 4.0, _list)]
