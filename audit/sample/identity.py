"""Names and numbers of records: job ids as Slurm prints them, database indices, job names, node lists."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from audit.sample import calibration as cal
from audit.sample.cluster import Cluster
from audit.sample.jobs import Jobs
from audit.sample.population import Families, Flags, Ints
from audit.sample.work import PENDING, Attempts

FIRST_JOB_ID = 4_200_001
CLUSTER_ID = 3457  # above 2047, as half of all real ones: the database index then passes 2**63


@dataclass(frozen=True)
class Identities:
    """One entry a record. `folded`: a pending array task that is shown in its array's one row."""

    job_id: list[str]
    job_id_raw: Ints
    db_index: NDArray[np.uint64]
    name: list[str]
    folded: Flags


def identify(
    jobs: Jobs, families: Families, job: Ints, *, why: Ints, submit: Ints, start: Ints, end: Ints
) -> Identities:
    """Ids in order of creation: an array has its own from the start, its tasks get theirs when they start.

    The task of an array that starts last keeps the array's own id.
    """
    count = len(jobs.family)
    order = np.lexsort((start, submit, job))
    first = np.unique(job[order], return_index=True)
    seen, record = first[0], order[first[1]]
    waiting = np.zeros(count, dtype=bool)
    waiting[seen] = why[record] == PENDING
    begun = np.where(start[record] >= 0, start[record], np.where(end[record] >= 0, end[record], submit[record]))
    asked, began = np.full(count, -1), np.full(count, -1)
    asked[seen], began[seen] = submit[record], begun
    is_task = jobs.task >= 0
    present = asked >= 0
    # one event an array, one a job that is no task, one a task that has left its array
    arrays, array_row = np.unique(jobs.burst[is_task & present], return_index=True)
    array_row = np.flatnonzero(is_task & present)[array_row]
    own = present & ~(is_task & waiting)
    keeps = _last_of_array(jobs, began, is_task & present, waiting)
    own &= ~keeps
    rows = np.flatnonzero(own)
    when = np.concatenate([asked[array_row], np.where(is_task, began, asked)[rows]])
    tie = np.concatenate(
        [
            np.full(len(arrays), -1),
            np.where(jobs.leader >= 0, 2 * jobs.leader + 1, 2 * np.arange(count))[rows],
        ]
    )
    number = np.empty(len(when), dtype=np.int64)
    number[np.lexsort((tie, when))] = FIRST_JOB_ID + np.arange(len(when))
    parent = np.full(int(jobs.burst.max()) + 1, -1)
    parent[arrays] = number[: len(arrays)]
    raw = np.full(count, -1)
    raw[rows] = number[len(arrays) :]
    raw[keeps] = parent[jobs.burst[keeps]]
    folded = (is_task & waiting)[job]
    raw = np.where(is_task & waiting, parent[jobs.burst], raw)
    shown = _shown(jobs, raw, parent)
    created = np.where((jobs.task[job] >= 0) & (start >= 0), start, submit)
    return Identities(
        [shown[j] for j in job], raw[job], _db_index(created), _names(jobs, families, job, asked), folded
    )  # fmt: skip


def _last_of_array(jobs: Jobs, began: Ints, task: Flags, waiting: Flags) -> Flags:
    """Of every array none of whose tasks still waits, the task that began last."""
    rows = np.flatnonzero(task)
    rows = rows[np.lexsort((rows, began[rows], jobs.burst[rows]))]
    burst = jobs.burst[rows]
    last = rows[np.flatnonzero(np.append(burst[1:] != burst[:-1], True))] if len(rows) else rows
    open_arrays = np.unique(jobs.burst[task & waiting])
    keeps = np.zeros(len(began), dtype=bool)
    keeps[last[~np.isin(jobs.burst[last], open_arrays)]] = True
    return keeps


def _shown(jobs: Jobs, raw: Ints, parent: Ints) -> list[str]:
    second = {int(jobs.leader[row]) for row in np.flatnonzero(jobs.leader >= 0)}
    columns = (jobs.task.tolist(), jobs.leader.tolist(), raw.tolist(), parent[jobs.burst].tolist())
    return [
        f"{array}_{task}"
        if task >= 0
        else f"{raw[leader]}+1"
        if leader >= 0
        else f"{own}+0"
        if row in second
        else str(own)
        for row, (task, leader, own, array) in enumerate(zip(*columns, strict=True))
    ]


def _db_index(created: Ints) -> NDArray[np.uint64]:
    """Cluster id, milliseconds and a sequence in 12, 42 and 10 bits, as Slurm 24.11 makes them."""
    order = np.argsort(created, kind="stable")
    moment = created[order]
    first = np.searchsorted(moment, moment)
    place_no = np.empty(len(created), dtype=np.uint64)
    place_no[order] = (np.arange(len(created)) - first).astype(np.uint64)
    milliseconds = created.astype(np.uint64) * np.uint64(1000) + place_no % np.uint64(1000)
    base = np.uint64(CLUSTER_ID) << np.uint64(52)
    return base | (milliseconds << np.uint64(10)) | (place_no // np.uint64(1000))


def _names(jobs: Jobs, families: Families, job: Ints, asked: Ints) -> list[str]:
    """Job names: a family's pattern, with what changes from one submission to the next filled in."""
    made: dict[tuple[int, int], str] = {}
    kinds, stems = families.kind.tolist(), families.stem.tolist()
    models, family, burst = families.model.tolist(), jobs.family.tolist(), jobs.burst.tolist()
    names = []
    for j in job.tolist():
        key = (family[j], burst[j])
        if key not in made:
            kind, stem, seed = cal.KINDS[kinds[key[0]]].name, stems[key[0]], burst[j] * 2654435761 % (1 << 32)
            patterns = cal.NAMES[kind]
            made[key] = patterns[stem % len(patterns)].format(
                model=cal.MODELS[models[key[0]]],
                version=1 + stem % 7 + burst[j] % 5,
                number=seed % 1000,
                hash=f"{seed:08x}",
                date=datetime.fromtimestamp(int(asked[j]), UTC).date().isoformat(),
            )
        names.append(made[key])
    return names


def node_lists(
    cluster: Cluster, attempts: Attempts, which: Ints, component: Ints, nodes: Ints
) -> tuple[list[str], list[str], list[list[int]]]:
    """Every record's nodes as Slurm prints them, its first node's name, and the nodes' indices."""
    lists, firsts, held = [], [], []
    cache: dict[tuple[int, ...], str] = {(): "None assigned"}
    columns = (which.tolist(), component.tolist(), nodes.tolist())
    for attempt, part, wanted in zip(*columns, strict=True):
        own = attempts.nodes[attempt]
        own = own[wanted:] if part == 1 else own[:wanted]
        if own not in cache:
            cache[own] = compress([cluster.node_names[node] for node in own])
        lists.append(cache[own])
        firsts.append(cluster.node_names[own[0]] if own else "")
        held.append(list(own))
    return lists, firsts, held


def compress(names: list[str]) -> str:
    """Node names of one prefix and three digits as a host list: `a007`, `c[001-003,007]`."""
    if len(names) == 1:
        return names[0]
    numbers = sorted(int(name[1:]) for name in names)
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    spans = [f"{a:03d}" if a == b else f"{a:03d}-{b:03d}" for a, b in zip(starts, ends, strict=True)]
    return f"{names[0][0]}[{','.join(spans)}]"
