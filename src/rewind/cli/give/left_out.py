"""What stays here when something is given to others, for `--json`: the same of `share` and `push`."""

from __future__ import annotations

from rewind.cli.output.style import path_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rewind.checkpoint.share.giving.left_out import LeftOut


def left_out_json(left_out: Iterable[LeftOut]) -> list[dict[str, Any]]:
    return [path_json(one.path, reason=one.reason.decode()) for one in left_out]


def secrets_json(left_out: Iterable[LeftOut]) -> list[dict[str, Any]]:
    return [path_json(one.path, line=line or None, kind=kind) for one in left_out for kind, line in one.kinds]
