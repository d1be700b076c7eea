"""Models on disk: numbers and a card, so that opening a model can never run code or fill the memory.

A model NAME is two files in one folder. `NAME-<sha256>.arrays` holds the arrays one after the other, raw and little
endian, each padded to 8 bytes: no zip that could unpack to more than it is, no pickle, no header to parse.
`NAME.card.json` says which arrays file belongs to it and what lies in it: name, type and shape of each array, beside
what the caller wrote there. The card is replaced last and in one step, and the arrays of the model before it stay: a
reader, or a crash between the two, meets the old model or the new one, never a mix.

`sha256` is of the model's name, the layout and the arrays, `card_sha256` of what the caller wrote: a model under
another's name, or a card that was edited, is seen. A hash is no signature: whoever may write the folder may write a
model. So sizes and types are checked all the same.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from audit import __version__
from audit.errors import AuditError

FORMAT: Final = 2
MOST_BYTES: Final = 100 * 2**20
MOST_CARD_BYTES: Final = 2**20
MOST_ARRAYS: Final = 4096
MOST_DIMENSIONS: Final = 4

Arrays = Mapping[str, NDArray[Any]]
_Part = tuple[str, np.dtype[Any], tuple[int, ...]]  # name, type and shape of an array

_DTYPES: Final = {dtype: np.dtype(dtype) for dtype in "|b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f4 <f8".split()}
_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_ARRAY_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,200}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_ALIGNED: Final = 8


@dataclass(frozen=True, eq=False)
class Model:
    """What was saved: the arrays (read-only), the caller's card, and the files that they are in, for messages."""

    arrays: Arrays
    card: Mapping[str, object]
    path: Path
    card_path: Path


def save(folder: Path, name: str, arrays: Arrays, card: Mapping[str, object]) -> None:
    """Writes the model `name` into `folder` (made if need be); the same model gives the same bytes.

    ValueError: a name, an array's type or a card that this format does not hold (NaN in a card: write null).
    AuditError: larger than 100 MiB, or the folder cannot be written.
    """
    if not _MODEL_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a model")
    layout, content = _packed(arrays)
    if len(content) > MOST_BYTES:
        raise AuditError(
            f"the model would be larger than {MOST_BYTES >> 20} MiB",
            where=str(folder / name),
            remedy="report this as a fault",
        )
    digest = _digest(name, layout, content)
    hashes = {"sha256": digest, "card_sha256": _card_digest(card)}
    head = {"format": FORMAT, "version": __version__, "name": name, **hashes, "card": dict(card), "arrays": layout}
    text = (json.dumps(head, indent=1, allow_nan=False) + "\n").encode("ascii")
    if len(text) > MOST_CARD_BYTES:
        raise ValueError(f"the card of {name} is larger than {MOST_CARD_BYTES} bytes")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        former = _former(folder, name)
        write_whole(_arrays_path(folder, name, digest), content)
        write_whole(card_path(folder, name), text)
        _sweep(folder, name, kept={digest, former})
    except OSError as error:
        raise AuditError(
            f"the model cannot be written: {error.strerror}",
            where=str(error.filename or folder),
            remedy="free space or mend the folder, then run `audit train`",
        ) from error


def load(folder: Path, name: str) -> Model:
    """The model `name` of `folder`. AuditError: it is missing, damaged, of another format, or not what it claims."""
    path = card_path(folder, name)
    if not _MODEL_NAME.fullmatch(name):
        raise damaged(path, "is not the name of a model")
    head = _head(path)
    if head["name"] != name:
        raise damaged(path, "is the card of another model")
    parts = [_part(entry, path) for entry in head["arrays"]]
    arrays_path = _arrays_path(folder, name, head["sha256"])
    content = _read(arrays_path, MOST_BYTES)
    if _digest(name, head["arrays"], content) != head["sha256"]:
        raise damaged(path, f"does not fit {arrays_path.name}: its sha256 is not that of the arrays and their layout")
    return Model(_unpacked(content, parts, path), head["card"], arrays_path, path)


def card_path(folder: Path, name: str) -> Path:
    """Where the card of a model is."""
    return folder / f"{name}.card.json"


def damaged(where: Path | str, what: str) -> AuditError:
    """The error that says what is wrong with a model, and that training again mends it."""
    return AuditError(what, where=str(where), remedy="run `audit train` again")


def _digest(name: str, layout: object, content: bytes) -> str:
    """Of the arrays and of what they are taken for."""
    return hashlib.sha256(json.dumps([name, layout]).encode("ascii") + b"\0" + content).hexdigest()


def _card_digest(card: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(dict(card)).encode("ascii")).hexdigest()


def _packed(arrays: Arrays) -> tuple[list[tuple[str, str, list[int]]], bytes]:
    """The layout, and the bytes laid out so."""
    if len(arrays) > MOST_ARRAYS:
        raise ValueError(f"a model holds {MOST_ARRAYS} arrays at most")
    layout, parts = [], []
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<").str
        if not _ARRAY_NAME.fullmatch(name) or dtype not in _DTYPES or array.ndim > MOST_DIMENSIONS:
            raise ValueError(f"a model cannot hold {name!r}: {array.dtype}, {array.ndim} dimensions")
        content = np.ascontiguousarray(array, dtype=dtype).tobytes()
        layout.append((name, dtype, list(array.shape)))
        parts += [content, b"\0" * (-len(content) % _ALIGNED)]
    return layout, b"".join(parts)


def _unpacked(content: bytes, parts: Sequence[_Part], path: Path) -> dict[str, NDArray[Any]]:
    """Views into `content`, whose sizes must add up to it exactly before the first is made."""
    sizes = [-(-prod(shape) * dtype.itemsize // _ALIGNED) * _ALIGNED for _, dtype, shape in parts]
    if sum(sizes) != len(content) or len({name for name, _, _ in parts}) != len(parts):
        raise damaged(path, "does not hold the arrays that its card lists")
    arrays, start = {}, 0
    for (name, dtype, shape), size in zip(parts, sizes, strict=True):
        if dtype == np.bool_ and np.frombuffer(content, np.uint8, prod(shape), start).max(initial=0) > 1:
            raise damaged(path, "holds truth values that are neither true nor false")
        arrays[name] = np.frombuffer(content, dtype, prod(shape), start).reshape(shape)
        start += size
    return arrays


def _part(entry: object, path: Path) -> _Part:
    """Name, type and shape of one array as the card lists it, none of them more than the format allows."""
    match entry:
        case [str() as name, str() as dtype, [*shape]] if (
            _ARRAY_NAME.fullmatch(name) and dtype in _DTYPES and len(shape) <= MOST_DIMENSIONS
        ):
            sides = tuple(side for side in shape if type(side) is int and 0 <= side <= MOST_BYTES)
            # An empty array may not have vast other sides either: numpy refuses those in words of its own.
            bytes_at_most = prod(max(side, 1) for side in sides) * _DTYPES[dtype].itemsize
            if len(sides) == len(shape) and bytes_at_most <= MOST_BYTES:
                return name, _DTYPES[dtype], sides
    raise damaged(path, "is said to hold an array that no model has")


def _head(path: Path) -> dict[str, Any]:
    """The card file, its own keys checked: format, sha256, arrays, card."""
    try:
        head = json.loads(_read(path, MOST_CARD_BYTES), object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise damaged(path, "is no card of a model") from None
    if not isinstance(head, dict):
        raise damaged(path, "is no card of a model")
    if type(head.get("format")) is not int or head["format"] != FORMAT:
        raise damaged(path, f"was made by another version of audit: its format is not {FORMAT}")
    types = {"name": str, "sha256": str, "card_sha256": str, "arrays": list, "card": dict}
    if not all(isinstance(head.get(key), kind) for key, kind in types.items()):
        raise damaged(path, f"is no card of a model: one of {', '.join(types)} is missing")
    if not _SHA256.fullmatch(head["sha256"]) or len(head["arrays"]) > MOST_ARRAYS:
        raise damaged(path, "is no card of a model: its sha256 or its arrays cannot be")
    try:
        is_whole = _card_digest(head["card"]) == head["card_sha256"]
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise damaged(path, "is damaged: card_sha256 is not of what the card says")
    return head


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _arrays_path(folder: Path, name: str, digest: str) -> Path:
    return folder / f"{name}-{digest}.arrays"


def _read(path: Path, most_bytes: int) -> bytes:
    try:
        return read_regular(path, most_bytes)
    except FileNotFoundError:
        raise AuditError("is missing", where=str(path), remedy="run `audit train`") from None


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The file, if it is one, is none by another name, and has at most `most_bytes`; AuditError where it is not.

    FileNotFoundError: there is none.
    """
    try:
        with open(path, "rb", opener=_opened) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise damaged(path, "is not a regular file")
            if found.st_size > most_bytes:
                raise damaged(path, f"is larger than {most_bytes >> 20} MiB")
            return file.read(most_bytes)
    except FileNotFoundError:
        raise
    except OSError as error:
        link = path.is_symlink()
        raise damaged(path, "is a symbolic link" if link else f"cannot be read ({error.strerror})") from None


def _opened(path: str, flags: int) -> int:
    """Follows no link out of the folder, and waits for nobody at a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def write_whole(path: Path, content: bytes) -> None:
    """Puts the file in place by a rename, on the disk before its name is: readers meet the old one or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _former(folder: Path, name: str) -> str:
    """The sha256 of the model that is there now; "" where none can be read."""
    try:
        return str(_head(card_path(folder, name))["sha256"])
    except AuditError:
        return ""


def _sweep(folder: Path, name: str, kept: set[str]) -> None:
    """Removes the arrays of models before the one that was just replaced (that one may still be being read)."""
    ours = re.compile(re.escape(name) + r"-([0-9a-f]{64})\.arrays")
    for path in folder.iterdir():
        found = ours.fullmatch(path.name)
        if found and found[1] not in kept:
            path.unlink()
