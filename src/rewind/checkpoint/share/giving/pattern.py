"""A pattern that is compiled when it is first tried. Loading `re` and compiling all of them would take longer
than the rest of a small push, in which most of them are never tried."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


class Pattern:
    __slots__ = ("_compiled", "_source")

    def __init__(self, source: bytes) -> None:
        """Flags stand in the source: `(?i)`."""
        self._source = source
        self._compiled: re.Pattern[bytes] | None = None

    @property
    def compiled(self) -> re.Pattern[bytes]:
        if self._compiled is None:
            import re

            self._compiled = re.compile(self._source)
        return self._compiled
