"""An object that rotted, made whole: one wrong bit is found by trying, for the hash says when it is right."""

from __future__ import annotations

from rewind.store.blobs import is_whole, oid_of, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WORK = 1 << 29  # bytes to be hashed for all objects of one repair: some seconds
_TRIAL = 400  # what a trial costs besides, in bytes


class Mender:
    """Tries until its work is used up: many small objects can be mended, or a few larger ones."""

    def __init__(self, work: int = _WORK) -> None:
        self.left = work

    def object(self, oid: bytes, packed: bytes) -> bytes | None:
        """The content of the object, if `packed` is it but for one bit or one byte of its wrapping."""
        for data in _unwrapped(packed):
            if oid_of(data) == oid:
                return data
        fixed = self.flip(packed, lambda trial: is_whole(oid, trial))
        return unpack(oid, fixed) if fixed is not None else None

    def may_try(self, size: int, work: int) -> bool:
        """Whether there is time to try every bit of so many bytes, with so many to look at for each."""
        cost = 8 * size * (work + _TRIAL)
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def flip(self, data: bytes, is_right: Callable[[bytes], bool], *, factor: int = 1) -> bytes | None:
        """The same bytes with the one bit changed that makes them right, or None. `factor`: how much more
        than its own length a trial has to look at."""
        if not self.may_try(len(data), factor * len(data)):
            return None
        trial = bytearray(data)
        for at in range(len(trial)):
            for bit in range(8):
                trial[at] ^= 1 << bit
                if is_right(bytes(trial)):
                    return bytes(trial)
                trial[at] ^= 1 << bit
        return None


def _unwrapped(packed: bytes) -> Iterator[bytes]:
    """The content, whatever the codec byte and zlib's own header and checksum say."""
    import zlib

    yield packed[1:]
    for window, body in ((15, packed[1:]), (-15, packed[3:])):
        inflater = zlib.decompressobj(window)
        try:
            yield inflater.decompress(body, 64 << 20)
        except zlib.error:
            continue
