"""The whole gzip members of a segment, one after the other, and what of the file is none. It reads one file."""

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"\x1f\x8b\x08"
_PIECE = 1 << 14
_MOST_BYTES = 1 << 23  # of one member's text: an interval of a node with thousands of jobs takes less than 1 MiB
_MOST_TRIES = 256  # to find the next whole member after damage


@dataclass(frozen=True)
class Member:
    """One member's text, checked by its CRC; or, with `fault`, `lost_bytes` of the file that are no whole member."""

    text: bytes = b""
    fault: str = ""
    lost_bytes: int = 0


def members(path: Path) -> Iterator[Member]:
    """The members in order. After damage it goes on at the next member that is whole; a torn tail comes last.

    Where nearly all is damaged the rest is given up.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if not size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at, lost, tries = 0, 0, 0
            while at < size:
                end, text, is_cut = _member(data, at, size)
                if text is not None:
                    if lost:
                        yield Member(fault="damaged", lost_bytes=lost)
                    yield Member(text)
                    at, lost = end, 0
                    continue
                following, tries = data.find(_MAGIC, at + 1), tries + 1
                if following < 0 or tries > _MOST_TRIES:
                    yield Member(fault="its end is torn" if is_cut else "damaged", lost_bytes=lost + size - at)
                    return
                at, lost = following, lost + following - at
            if lost:
                yield Member(fault="damaged", lost_bytes=lost)


def first_text(path: Path, size: int = 4096) -> bytes:
    """The beginning of the first member's text; empty where the file is no gzip or its beginning is damaged."""
    with path.open("rb") as file:
        data = file.read(1 << 16)
    if not data.startswith(_MAGIC):
        return b""
    try:
        return zlib.decompressobj(31).decompress(data, size)
    except zlib.error:
        return b""


def _member(data: mmap.mmap, at: int, size: int) -> tuple[int, bytes | None, bool]:
    """Where the member that begins at `at` ends, its text (None: it is none), and whether the file ends inside it."""
    inflate, parts, room = zlib.decompressobj(31), [], _MOST_BYTES
    while at < size:
        piece = data[at : at + _PIECE]
        try:
            part = inflate.decompress(piece, room)
        except zlib.error:
            return at, None, False
        parts.append(part)
        room -= len(part)
        at += len(piece)
        if inflate.eof:
            return at - len(inflate.unused_data), b"".join(parts), False
        if room <= 0 or inflate.unconsumed_tail:
            return at, None, False
    return at, None, True
