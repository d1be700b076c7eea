"""Who and what an attempt was, as 64-bit numbers: a model tells groups apart by them and holds no name.

A number is no secret: whoever has a model and guesses a name can find out whether it is in there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.sizing.attempts import Attempts, Floats
from audit.sizing.features import GROUPS

Hashes = NDArray[np.uint64]

# The same as accounting's `family`, which DuckDB runs over all attempts; this serves one name from a cold start.
_HEX: Final = "|".join(f"[0-9A-Fa-f]{{{n}}}[0-9][0-9A-Fa-f]{{{7 - n},}}" for n in range(7))
_FAMILY: Final = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T_ ][0-9]{2}[:.-]?[0-9]{2}([:.-]?[0-9]{2})?)?",
        rf"[0-9A-Fa-f]{{8}}(-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}|{_HEX}|[0-9A-Fa-f]{{7,}}[0-9][0-9A-Fa-f]*",
        r"[0-9]+",
        r"#([-_.:]?#)+",
    )
)
_LONGEST: Final = 1024
_SEED: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def family(job_name: str) -> str:
    """The family of a job name: dates, UUIDs, hex strings and runs of digits, each replaced by `#`.

    What stands after the first 1,024 characters is not read: Slurm keeps no longer names.
    """
    job_name = job_name[:_LONGEST]
    for pattern in _FAMILY:
        job_name = pattern.sub("#", job_name)
    return job_name


def text_hashes(texts: Sequence[str]) -> Hashes:
    """A number for each text; any text, lone surrogates included."""
    each = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(each), np.dtype("<u8")).astype(np.uint64)


def mixed(*columns: Hashes | Floats) -> Hashes:
    """One number for each combination (the finaliser of splitmix64 over them); NaN is like NaN, -0 like 0."""
    found = np.full(len(columns[0]), _SEED)
    for column in columns:
        found = found * _FIRST + _bits(column)
        found = (found ^ (found >> np.uint64(30))) * _FIRST
        found = (found ^ (found >> np.uint64(27))) * _SECOND
        found ^= found >> np.uint64(31)
    return found


def _bits(column: Hashes | Floats) -> Hashes:
    if column.dtype == np.uint64:
        return column.view(np.uint64)
    plain = np.where(np.isnan(column), np.nan, column + 0.0).astype(np.float64)
    return plain.view(np.uint64)


@dataclass(frozen=True)
class Names:
    """What stands behind the codes of attempts: `names` are account/family, as `case.sql` makes them."""

    users: Sequence[str]
    names: Sequence[str]
    partitions: Sequence[str]


@dataclass(frozen=True, eq=False)
class Who:
    """The same for some attempts, as numbers, one entry each."""

    user: Hashes
    name: Hashes
    partition: Hashes

    @classmethod
    def of(cls, attempts: Attempts, names: Names) -> "Who":
        """The numbers of the names behind the codes."""
        return cls(
            text_hashes(names.users)[attempts.user],
            text_hashes(names.names)[attempts.name],
            text_hashes(names.partitions)[attempts.partition],
        )

    def last(self, count: int) -> "Who":
        """The last so many entries."""
        return Who(self.user[-count:], self.name[-count:], self.partition[-count:])


def group_hashes(who: Who, cores: Floats, mem_bytes: Floats, gpus: Floats, limit_s: Floats) -> dict[str, Hashes]:
    """The group of each attempt at every width of `features.groups`: what is not said is like itself alone, not 0."""
    key = mixed(who.user, who.name)
    groups = (
        mixed(key, cores, mem_bytes, gpus, limit_s),
        mixed(key, cores),
        key,
        who.user,
        who.partition,
        np.zeros(len(key), np.uint64),
    )
    return dict(zip(GROUPS, groups, strict=True))
