"""The values of sbatch's options: text to numbers. Pure and total; None where sbatch could not read it either."""

import math
import re
from typing import NamedTuple

_MOST = 2**31 - 1  # Slurm's counts are 32 bits wide
_MOST_MIB = 2**40  # an exbibyte; no node has more
_MOST_MINUTES = 2**32 - 3  # above stand Slurm's "unset" and "infinite"
_MOST_ARRAY_INDEX = 4_000_000  # the largest that Slurm can be configured for
_MOST_ITEMS = 10_000  # of a list; what is longer cannot be read
_UNLIMITED = ("unlimited", "infinite", "-1")
_KIB_PER = {"K": 1, "M": 2**10, "G": 2**20, "T": 2**30}
_NAME = re.compile(r"[A-Za-z0-9][\w.+/-]{0,63}", re.ASCII)


class Cards(NamedTuple):
    """A count of one generic resource: `gpu`, `shard`, …; the type where it is named."""

    kind: str
    card: str | None
    number: int


def count(text: str) -> int | None:
    """A whole number of at least one."""
    match = re.fullmatch(r" *\+?(\d{1,10})", text, re.ASCII)
    value = int(match[1]) if match else 0
    return value if 0 < value <= _MOST else None


def nodes(text: str) -> int | None:
    """`2`, `2-4`, `1k`, or one of the sizes `2,4,8` or `2-8:2`: the fewest nodes that would do."""
    sizes = []
    for part in text.split(",", _MOST_ITEMS):
        match = re.fullmatch(r" *\+?(\d{1,9})([kKmM]?)(?:-(\d{1,9})([kKmM]?)(?::\d{1,9})?)?", part, re.ASCII)
        if match is None:
            return None
        first, last = (_scaled(match[i], match[i + 1]) for i in (1, 3))
        if not 0 < first <= _MOST or (match[3] and last < first):
            return None
        sizes.append(first)
    return min(sizes)


def _scaled(digits: str | None, unit: str) -> int:
    return int(digits or 0) * {"": 1, "K": 2**10, "M": 2**20}[(unit or "").upper()]


def mem_mib(text: str) -> int | None:
    """A size such as `4G`, `4GB`, `100` (MiB) in MiB, part of one counting as one; 0 is the whole node."""
    match = re.fullmatch(r"(\d{1,19})(?:([KMGT])B?)? *", text, re.ASCII | re.IGNORECASE)
    if match is None:
        return None
    mib = -(-int(match[1]) * _KIB_PER[(match[2] or "M").upper()] // 2**10)
    return mib if mib <= _MOST_MIB else None


def time_limit_s(text: str) -> float | None:
    """`M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S` in seconds, rounded up to a minute; unlimited, and 0, is inf."""
    if text.lower() in _UNLIMITED:
        return math.inf
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":", 3)
    if dash and not clock:
        parts = ["0"]
    digits = [*parts, days] if dash else parts
    if len(parts) > 3 or not all(re.fullmatch(r"\d{1,10}", part, re.ASCII) for part in digits):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    total = int(days or 0) * 1440 + hours * 60 + minutes + -(-seconds // 60)
    return None if total > _MOST_MINUTES else float(total * 60) if total else math.inf


def gres(text: str) -> tuple[Cards, ...] | None:
    """A list such as `gpu:a100:2,shard:4`, `gres/gpu=2`, `none`: what is asked for on each node."""
    if text.lower() == "none":
        return ()
    found = []
    for item in text.split(",", _MOST_ITEMS):
        name, separator, rest = re.sub(r"^gres[:/]", "", item).replace("=", ":").partition(":")
        cards = _cards(rest, name) if separator else Cards(name, None, 1)
        if cards is None or not _NAME.fullmatch(name):
            return None
        found.append(cards)
    return tuple(found)


def gpus(text: str) -> tuple[Cards, ...] | None:
    """`2`, `a100:2`, `a100:2,h100:1`: GPUs, by type where it is said."""
    found = [_cards(item.replace("=", ":"), "gpu") for item in text.split(",", _MOST_ITEMS)]
    return None if None in found else tuple(cards for cards in found if cards is not None)


def _cards(text: str, kind: str) -> Cards | None:
    """`2`, `a100`, `a100:2`."""
    card, separator, number = text.rpartition(":")
    if not separator and not re.fullmatch(r"\d+[kKmM]?", number, re.ASCII):
        card, number = number, "1"
    match = re.fullmatch(r"(\d{1,9})([kKmM]?)", number, re.ASCII)
    many = _scaled(match[1], match[2]) if match else _MOST + 1
    if many > _MOST or (card and not _NAME.fullmatch(card)) or (separator and not card):
        return None
    return Cards(kind, card or None, many)


def tres_per_task(text: str) -> dict[str, object] | None:
    """`cpu=4,gres/gpu:a100=2` as the options that say the same: `cpus-per-task`, `gpus-per-task`."""
    found: dict[str, object] = {}
    for item in text.split(",", _MOST_ITEMS):
        name, _, number = item.replace("=", ":").partition(":")
        if name == "cpu":
            found["cpus-per-task"] = count(number)
        elif name == "gres/gpu":
            found["gpus-per-task"] = gpus(number)
    return None if None in found.values() else found


def array_tasks(text: str) -> int | None:
    """How many tasks `1-100%5,200,1-10:2` stands for; an index said twice is one task."""
    ranges: list[range] = []
    total = 0
    for part in text.removeprefix("[").removesuffix("]").split(",", _MOST_ITEMS):
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?\]?(?:%\d{1,10})?", part, re.ASCII)
        if match is None:
            return None
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or last > _MOST_ARRAY_INDEX:
            return None
        ranges.append(range(first, last + 1, step))
        total += len(ranges[-1])
        if total > _MOST_ARRAY_INDEX + 1:
            return None
    indices = bytearray(max(each.stop for each in ranges))
    for each in ranges:
        indices[each.start : each.stop : each.step] = b"\x01" * len(each)
    return indices.count(1)
