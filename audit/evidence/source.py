"""Opens a file of evidence, plain or compressed (gz, xz, zst by content, not by name), as bytes."""

import codecs
import gzip
import io
import lzma
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard

from audit.evidence.interface import EvidenceError

_MAGIC = {b"\x1f\x8b": "gz", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_DEEP = re.compile(rb"(?:\[\s*){64}|(?:\{\s*\"[^\"]{0,64}\"\s*:\s*){64}")  # a parser would take gigabytes for it
_BROKEN = (EOFError, OSError, lzma.LZMAError, zstandard.ZstdError)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's content; EvidenceError where it cannot be read or its compression is cut or damaged."""
    try:
        with path.open("rb") as raw:
            magic = raw.read(6)
            raw.seek(0)
            kind = next((name for mark, name in _MAGIC.items() if magic.startswith(mark)), "")
            yield _decompressed(raw, kind)
    except EvidenceError:
        raise
    except (gzip.BadGzipFile, *_BROKEN) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise EvidenceError(
                f"cannot be read ({error.strerror})", where=str(path), remedy="check its permissions"
            ) from None
        raise EvidenceError(
            "its compressed data is cut short or damaged", where=str(path), remedy="fetch the file again"
        ) from None


def _decompressed(raw: IO[bytes], kind: str) -> IO[bytes]:
    if kind == "gz":
        return cast(IO[bytes], gzip.open(raw))
    if kind == "xz":
        return lzma.open(raw)
    if kind == "zst":
        return io.BufferedReader(_WholeZstd(raw), 1 << 20)
    return raw


class _WholeZstd(io.RawIOBase):
    """A zst stream of any number of frames that, unlike the library's reader, fails where the last is cut."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._ready, self._frame = (
            raw,
            memoryview(b""),
            zstandard.ZstdDecompressor().decompressobj(),
        )
        self._inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: "memoryview | bytearray") -> int:  # type: ignore[override]
        while not self._ready:
            data = (self._frame.unused_data if self._frame.eof else b"") or self._raw.read(1 << 18)
            if self._frame.eof:
                self._frame, self._inside = zstandard.ZstdDecompressor().decompressobj(), False
            if not data:
                if self._inside:
                    raise EOFError("the last frame is cut short")
                return 0
            self._inside = True
            self._ready = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._inside = False
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of the content, decompressed."""
    with opened(path) as stream:
        return stream.read(size)


def json_text(stream: IO[bytes]) -> IO[bytes]:
    """The stream with bytes that are no UTF-8 replaced by their codes, so that a JSON parser takes the rest."""
    return io.BufferedReader(_Utf8(stream), 1 << 18)


def json_fault(path: Path) -> EvidenceError:
    """What a JSON parser's complaint about a file comes to."""
    return EvidenceError("is cut short or is no JSON", where=str(path), remedy="make the dump again")


class _Utf8(io.RawIOBase):
    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._ready, self._begun = raw, b"", False
        self._decoder = codecs.getincrementaldecoder("utf-8")("audit_bytes")

    def readable(self) -> bool:
        return True

    def readinto(self, target: "memoryview | bytearray") -> int:  # type: ignore[override]
        while not self._ready:
            data = self._raw.read(1 << 18)
            if not self._begun:
                data, self._begun = data.removeprefix(b"\xef\xbb\xbf"), True
            if _DEEP.search(data):
                raise EvidenceError("is nested deeper than any dump", remedy="it is no output of Slurm")
            self._ready = self._decoder.decode(data, final=not data).encode()
            if not data:
                break
        size = min(len(target), len(self._ready))
        target[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def _as_codes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101
    return "".join(f"\\\\x{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error("audit_bytes", _as_codes)
