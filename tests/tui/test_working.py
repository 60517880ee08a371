"""What a screen says of work that failed."""

from __future__ import annotations

from rewind.tui.dialogs.working import Failure


def test_a_failure_names_the_file_as_it_is_written() -> None:
    error = PermissionError(13, "Permission denied", b"/shop/caf\xc3\xa9 \xff\n")
    assert Failure(error).message == "Permission denied: /shop/café \\xff\\n"
