"""Many paths as few lines."""

from __future__ import annotations

from rewind.snapshot.trees.fold import fold


def lines(*texts: str) -> list[tuple[str, bytes, str]]:
    return [(text[0], text[1:].encode(), "") for text in texts]


def test_a_directory_in_which_the_same_happened_to_all_is_one_line() -> None:
    found = fold(lines(*(f"-src/a/{n}" for n in range(4)), *(f"-src/b/{n}" for n in range(3)), "-x"))
    assert found == [("-", b"src/", "", 7), ("-", b"x", "", 0)]


def test_few_are_shown_one_by_one() -> None:
    assert [one[1] for one in fold(lines("-a/1", "-a/2"))] == [b"a/1", b"a/2"]


def test_a_mixed_directory_folds_below() -> None:
    found = fold(lines("~src/app.py", *(f"+src/new/{n}" for n in range(5))))
    assert found == [("~", b"src/app.py", "", 0), ("+", b"src/new/", "", 5)]


def test_a_remark_keeps_a_path_apart() -> None:
    found = fold([*lines(*(f"-d/{n}" for n in range(6))), ("-", b"d/mine", "made by you since")])
    assert len(found) == 7


def test_the_directory_itself_is_no_file_of_its_own() -> None:
    assert fold(lines("-src", *(f"-src/{n}" for n in range(5)))) == [("-", b"src/", "", 5)]


def test_a_directory_to_which_something_else_happened_is_a_line_beside_its_files() -> None:
    assert fold(lines("-src", "+src/1", "+src/2")) == [
        ("-", b"src", "", 0), ("+", b"src/1", "", 0), ("+", b"src/2", "", 0)]


def test_nothing_is_lost_but_what_is_folded() -> None:
    given = lines("+a/1", "-a/2", "~b", "=c/d/e", "=c/d/f")
    assert sorted(one[:3] for one in fold(given)) == sorted(given) and fold([]) == []
