"""Writes segments: one gzip member per interval, appended whole; heals a torn tail. Touches files of the spool only."""

import errno
import json
import os
import time
import zlib

from audit_collector.wire import line

SUFFIX = ".seg.gz"
LARGEST_BYTES = 8 << 20
SYNC_S = 60.0
# How many intervals wait in memory while the disk is full.
LARGEST_WAITING = 5
_CHUNK_BYTES = 1 << 16
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


class Segment:
    """The open segment of one role."""

    def __init__(self, spool: object, open_name: str, prefix: str, header: dict) -> None:
        self.spool = spool
        self.open_name = open_name
        self.prefix = prefix
        self.header = header
        self.fd = -1
        self.size_bytes = 0
        self.opened_s = self.ended_s = 0.0
        self.synced_s = 0.0
        self.written_bytes = 0
        self.waiting = []
        self.lost = None
        """(from_s, to_s, reason) of intervals that were dropped; None where none was."""

    def heal(self, found: object) -> tuple:
        """Closes what an earlier run left open: as `close_left_over`."""
        return close_left_over(self.spool, self.open_name, self.prefix, found)

    def add(self, text: str, from_s: float, to_s: float, room: bool) -> bool:
        """Appends an interval's lines; without room it waits, and the oldest that wait too long are given up.

        True when nothing waits any more.
        """
        self.waiting.append((text, from_s, to_s))
        self._notice_removed(self.waiting[0][1])
        while self.waiting and room:
            waiting_text, start_s = self.waiting[0][:2]
            try:
                self._append(waiting_text, start_s)
            except OSError:
                break
            self.ended_s = self.waiting.pop(0)[2]
        while len(self.waiting) > LARGEST_WAITING:
            lost_text, lost_from_s, lost_to_s = self.waiting.pop(0)
            self.lost = (self.lost[0] if self.lost else lost_from_s, lost_to_s, "disk_full")
            # What happened meanwhile is told by the next interval that is kept.
            kept = [one for one in lost_text.split("\n") if one.startswith(("event\t", "gap\t"))]
            text, from_s, to_s = self.waiting[0]
            self.waiting[0] = (text + "".join([one + "\n" for one in kept]), from_s, to_s)
        return not self.waiting

    def is_due(self, now_s: float) -> bool:
        """Whether the segment should be closed: large enough, or opened on another UTC day."""
        return self.fd >= 0 and (self.size_bytes > LARGEST_BYTES or int(now_s // 86400) != int(self.opened_s // 86400))

    def close(self) -> object:
        """Closes the open segment, if there is one, under its final name, which it returns.

        None where there is none; where the disk refuses it stays open, for another try.
        """
        self._notice_removed(self.ended_s)
        if self.fd < 0:
            return None
        name = final_name(self.prefix, self.opened_s)
        try:
            os.fdatasync(self.fd)
            self.spool.rename(self.open_name, name)
        except OSError:
            return None
        os.close(self.fd)
        self.fd = -1
        return name

    def _notice_removed(self, to_s: float) -> None:
        """Somebody removed the open segment: what it held is lost up to `to_s`, and another one is begun."""
        if self.fd >= 0 and os.fstat(self.fd).st_nlink == 0:
            os.close(self.fd)
            self.fd = -1
            self.lost = (self.opened_s, to_s, "removed")

    def _append(self, text: str, start_s: float) -> None:
        if self.fd < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self.fd = self.spool.open(self.open_name, flags)
            self.size_bytes = 0
            self.opened_s = start_s
            self.synced_s = 0.0
        if self.size_bytes == 0:
            text = "#" + json.dumps(self.header, separators=(",", ":")) + "\n" + text
        packed = member(text)
        written = -1
        try:
            written = os.write(self.fd, packed)
        finally:
            if written != len(packed):
                os.ftruncate(self.fd, self.size_bytes)
        if written != len(packed):
            raise OSError("short write")
        self.size_bytes += len(packed)
        self.written_bytes += len(packed)
        mono_s = time.monotonic()
        if mono_s - self.synced_s >= SYNC_S:
            os.fdatasync(self.fd)
            self.synced_s = mono_s


def member(text: str) -> bytes:
    """One gzip member, whole, of the same octets for the same text."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(text.encode("utf-8", "replace")) + packer.flush()


def final_name(prefix: str, opened_s: float) -> str:
    """The name of a closed segment."""
    return "%s-%d-%s%s" % (prefix, int(opened_s), "".join("%02x" % byte for byte in bytearray(os.urandom(4))), SUFFIX)


def file_prefix(node: str, role: str) -> str:
    """How a segment's name starts; what might mean something in a path or a shell becomes an underscore."""
    safe = "".join([one if one in _SAFE else "_" for one in node])
    return "%s-%s" % (safe.lstrip("-.") or "_", role)


def close_left_over(spool: object, open_name: str, prefix: str, found: object = None) -> tuple:
    """Cuts a left-over open segment to its last whole member and closes it.

    Returns (its name, octets cut off, to_s of its last whole interval); None for what is not there. `found` is called
    with the (from_s, to_s) of its intervals before it gets its name: whoever dies in between finds it again.
    """
    try:
        fd = spool.open(open_name, os.O_RDWR)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None, 0, None
        raise
    with os.fdopen(fd, "r+b") as opened:
        whole_bytes, spans = _whole(opened)
        size_bytes = os.fstat(opened.fileno()).st_size
        if whole_bytes < size_bytes:
            opened.truncate(whole_bytes)
        os.fsync(opened.fileno())
    cut_bytes = size_bytes - whole_bytes
    if not whole_bytes:
        spool.remove(open_name)
        return None, cut_bytes, None
    if spans and found is not None:
        found(spans)
    name = final_name(prefix, spans[0][0] if spans else time.time())
    spool.rename(open_name, name)
    return name, cut_bytes, spans[-1][1] if spans else None


def _whole(opened: object) -> tuple:
    """(octets of whole members, (from_s, to_s) of each of their intervals) of an open segment."""
    position = whole_bytes = 0
    spans = []
    head = b""
    unpacker = zlib.decompressobj(31)
    while True:
        part = opened.read(_CHUNK_BYTES)
        if not part:
            return whole_bytes, spans
        while part:
            try:
                text = unpacker.decompress(part)
            except zlib.error:
                return whole_bytes, spans
            if len(head) < _CHUNK_BYTES:
                head += text[:_CHUNK_BYTES]
            used = len(part) - len(unpacker.unused_data)
            position += used
            part = part[used:]
            if unpacker.eof:
                whole_bytes = position
                span = _interval(head)
                spans += [span] if span else []
                head = b""
                unpacker = zlib.decompressobj(31)


def _interval(text: bytes) -> object:
    """(from_s, to_s) of a member's interval line; None where it has none."""
    for one in text.split(b"\n", 2)[:2]:
        words = one.split(b"\t", 3)
        if words[0] == b"interval" and len(words) > 2:
            try:
                return float(words[1]), float(words[2])
            except ValueError:
                return None
    return None


def lines_of(kind: str, rows: object) -> str:
    """All rows of one kind."""
    return "".join([line(kind, row) for row in rows])
