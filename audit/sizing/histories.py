"""What a model remembers of finished attempts, so that one job is seen as a back-test sees its rows.

Of each group the last attempts are kept, not their summary: whoever needs one makes it by the same code.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audit.sizing.attempts import Flags, Floats, Ints, Problem, Target
from audit.sizing.calibration import TINY
from audit.sizing.features import GROUPS, RATIOS, Seen, summarise
from audit.sizing.identity import Hashes, Names, Who, group_hashes, mixed, text_hashes
from audit.sizing.known import WINDOW, Known
from audit.sizing.model_file import Arrays
from audit.sizing.stored import Stored

MOST_REMEMBERED: Final = 300_000  # finished attempts; a group whose last one is older counts as never seen
SIZE: Final = 2.0  # times as many cores, or as few: a job of about the same size
MOST_LOG: Final = 100.0  # no amount of anything has a larger logarithm, whatever a file may hold


@dataclass(frozen=True)
class Job:
    """One job before it starts. What it asks for is NaN where it is not said; all amounts are totals over its nodes.

    `account` None: the one under which the user last ran this family. `pending`: of the user's attempts, how many have
    not ended (None: as many as is usual).
    """

    user: str
    account: str | None
    family: str
    partition: str
    cores: float
    mem_bytes: float
    gpus: float
    limit_s: float
    decided_s: float
    pending: float | None = None


@dataclass(frozen=True, eq=False)
class Windows:
    """Of each group of one width the last finished attempts, newest first: rows `newest[first[i]:first[i + 1]]`."""

    group: Hashes  # in order
    first: Ints
    newest: NDArray[np.int32]
    ended: Ints  # how many finished attempts there are of the group in all

    def rows(self, group: Hashes) -> tuple[NDArray[np.int32], int]:
        """The rows of one group, and how many attempts of it ended in all; none where it was never seen."""
        at = int(np.searchsorted(self.group, group[0]))
        if at == len(self.group) or self.group[at] != group[0]:
            return self.newest[:0], 0
        return self.newest[self.first[at] : self.first[at + 1]], int(self.ended[at])


@dataclass(frozen=True, eq=False)
class Histories:
    """Finished attempts of one target and the groups they are in."""

    target: Target
    log_need: Floats
    over: Floats  # the same over what was asked for, on the logarithmic scale; NaN where that was not said
    cores: Floats  # asked for, as are
    gpus: Floats  # NaN where it was not said
    end_s: Floats
    is_bound: Flags
    windows: dict[str, Windows]
    alias: Hashes  # user and family, in order
    alias_name: Hashes  # account and family, as last run

    @classmethod
    def of(cls, problem: Problem, known: Known, names: Names) -> "Histories":
        """What is known at the end of a problem."""
        ended = problem.attempts.take(known.by_end)
        everyone = Who.of(ended, names)
        hashed = group_hashes(everyone, ended.cores, ended.mem_bytes, ended.gpus, ended.limit_s)
        kept = known.by_end[-MOST_REMEMBERED:]
        attempts, who = ended.take(np.arange(len(ended))[-MOST_REMEMBERED:]), everyone.last(MOST_REMEMBERED)
        families = text_hashes([name.partition("/")[2] for name in names.names])[attempts.name]
        alias, at = np.unique(mixed(who.user, families)[::-1], return_index=True)  # the last run of each
        return cls(
            target=problem.target,
            log_need=problem.log_need[kept],
            over=(problem.log_need - problem.log_asked)[kept],
            cores=attempts.cores,
            gpus=attempts.gpus,
            end_s=attempts.end_s,
            is_bound=problem.is_bound[kept],
            windows={name: _windows(hashed[name]) for name in GROUPS},
            alias=alias,
            alias_name=who.name[::-1][at],
        )

    def groups_of(self, job: Job) -> dict[str, Hashes]:
        """The groups of one job."""
        user, partition, family = _numbers(job.user), _numbers(job.partition), _numbers(job.family)
        if job.account is not None:
            name = _numbers(f"{job.account}/{job.family}")
        else:
            alias = mixed(user, family)
            at = int(np.searchsorted(self.alias, alias[0]))
            found = at < len(self.alias) and self.alias[at] == alias[0]
            name = self.alias_name[at : at + 1] if found else _numbers(f"/{job.family}")
        amounts = (np.array([amount]) for amount in (job.cores, job.mem_bytes, job.gpus, job.limit_s))
        return group_hashes(Who(user, name, partition), *amounts)

    def see(self, job: Job, of: dict[str, Hashes], log_asked: float, pending: float) -> Seen:
        """What is known of one job, in its groups: one row; `log_asked` is the logarithm of what it asks for."""
        values = np.full((len(GROUPS) + len(RATIOS), WINDOW), np.nan)
        counts = np.zeros(len(values), np.int64)
        since = np.nan
        for place, name in enumerate(GROUPS):
            rows, counts[place] = self.windows[name].rows(of[name])
            values[place, : len(rows)] = self.log_need[rows]
            if name == "key" and len(rows):
                since = job.decided_s - self.end_s[rows[0]]
        for place, name in enumerate(("key", "user"), start=len(GROUPS)):
            rows, counts[place] = self.windows[name].rows(of[name])
            values[place, : len(rows)] = self.over[rows]
        return Seen(
            history=summarise(values, counts)[np.newaxis],
            since_s=np.array([since]),
            pending=np.array([pending]),
            asked=np.array([[job.cores, job.mem_bytes, job.gpus, job.limit_s]]),
            log_asked=np.array([log_asked]),
            hour=np.array([(job.decided_s / 3600) % 24]),
        )

    def bound(self, job: Job, of: dict[str, Hashes]) -> tuple[float, bool]:
        """The most that attempts of the job's user, name and about its size were killed at (NaN: none was), and whether
        none of them has got through since. Killed is who was cut at what was asked for. Size is the same GPUs, and
        twice the cores at most, half at least; what is not said is of any size.
        """
        rows, _ = self.windows["key"].rows(of["key"])
        with np.errstate(divide="ignore", invalid="ignore"):
            cores, gpus = self.cores[rows] / job.cores, self.gpus[rows] - job.gpus
        rows = rows[~((cores > SIZE) | (cores < 1 / SIZE) | (np.abs(gpus) > TINY))]
        killed = self.is_bound[rows] & (self.over[rows] >= -TINY)
        if not killed.any():
            return np.nan, False
        return float(np.exp(np.minimum(self.log_need[rows[killed]].max(), MOST_LOG))), bool(killed[0])

    def used_all(self, of: dict[str, Hashes]) -> bool:
        """Whether an attempt of the job's user and name needed all that it asked for: it may have needed more."""
        rows, _ = self.windows["key"].rows(of["key"])
        return not bool((self.over[rows] < -TINY).all())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """For the model file."""
        found: dict[str, NDArray[Any]] = {
            "log_need": self.log_need,
            "end_s": self.end_s,
            "is_bound": self.is_bound,
            "alias": self.alias,
            "alias_name": self.alias_name,
        }
        for name in _UNSAID:
            said = np.isfinite(getattr(self, name))
            found |= {name: np.where(said, getattr(self, name), 0.0), f"has_{name}": said}
        for name, windows in self.windows.items():
            found |= {f"{name}.{part}": getattr(windows, part) for part in ("group", "first", "newest", "ended")}
        return found

    @classmethod
    def from_arrays(cls, target: Target, arrays: Arrays, where: str) -> "Histories":
        """Reads what `to_arrays` made. AuditError where it is none."""
        stored = Stored(arrays, where)
        log_need = stored.get("log_need", np.float64, None)
        said = {name: stored.get(f"has_{name}", np.bool_, len(log_need)) for name in _UNSAID}
        over, cores, gpus = (
            np.where(has, stored.get(name, np.float64, len(log_need)), np.nan) for name, has in said.items()
        )
        alias = stored.sorted_hashes("alias")
        return cls(
            target=target,
            log_need=log_need,
            over=over,
            cores=cores,
            gpus=gpus,
            end_s=stored.get("end_s", np.float64, len(log_need)),
            is_bound=stored.get("is_bound", np.bool_, len(log_need)),
            windows={name: _read_windows(Stored(arrays, where, f"{name}."), len(log_need)) for name in GROUPS},
            alias=alias,
            alias_name=stored.get("alias_name", np.uint64, len(alias)),
        )


_UNSAID: Final = ("over", "cores", "gpus")  # columns that are NaN where a request did not say


@lru_cache(maxsize=1024)
def _numbers(text: str) -> Hashes:
    """The number of one text; each target of a job asks for the same."""
    return text_hashes([text])


def _windows(every: Hashes) -> Windows:
    """The last WINDOW of each group of the attempts remembered, out of all, which come in the order they ended."""
    group = every[-MOST_REMEMBERED:]
    groups, totals = np.unique(every, return_counts=True)
    order = np.lexsort((-np.arange(len(group)), group))
    found, first, many = np.unique(group[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(first, many)
    size = np.minimum(many, WINDOW)
    return Windows(
        group=found,
        first=np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
        newest=order[place < WINDOW].astype(np.int32),
        ended=totals[np.searchsorted(groups, found)].astype(np.int64),
    )


def _read_windows(stored: Stored, rows: int) -> Windows:
    group, newest = stored.sorted_hashes("group"), stored.get("newest", np.int32, None)
    first, ended = stored.get("first", np.int64, len(group) + 1), stored.get("ended", np.int64, len(group))
    size = np.diff(first)
    inside = not len(newest) or (newest.min() >= 0 and newest.max() < rows)
    if first[0] != 0 or first[-1] != len(newest) or not inside or (size < 1).any() or (size > WINDOW).any():
        raise stored.wrong("its groups are not where it says")
    if (ended < size).any():
        raise stored.wrong("its groups have more attempts than there were")
    return Windows(group, first, newest, ended)
