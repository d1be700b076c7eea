"""Users and their families of jobs: what each family needs, and what its user habitually asks for."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from audit.sample import calibration as cal
from audit.sample.cluster import Cluster

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Limits and memory people type. Minutes; MiB.
NICE_MINUTES = np.array(
    [
        2,
        3,
        5,
        10,
        15,
        20,
        30,
        45,
        60,
        90,
        120,
        180,
        240,
        360,
        480,
        720,
        1080,
        1440,
        2160,
        2880,
        4320,
        7200,
        10080,
    ]
)
NICE_MIB = np.array(
    [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 120, 128, 160, 192, 240, 256,
     320, 384, 480, 512, 640, 768, 900, 1000]
) * 1024  # fmt: skip


def nice(values: Floats, steps: Ints) -> Ints:
    """The smallest step at or above each value; the largest step where there is none."""
    chosen: Ints = steps[np.minimum(np.searchsorted(steps, values), len(steps) - 1)]
    return chosen


@dataclass
class Families:
    """One entry a family. Memory in MiB per node, run times in seconds, shares of one."""

    kind: Ints  # index into calibration.KINDS
    user: Ints
    account: Ints
    weight: Floats  # share of submissions
    node_class: Ints
    preemptible: Flags
    typed: Flags  # asks for a type of GPU, not for any
    stem: Ints  # which of the kind's name patterns
    model: Ints
    nodes: Ints
    gpus: Ints
    cores: Ints
    mem_mib: Floats
    mem_sigma: Floats
    drift_at: Floats  # when its need changes, as a share of the time; above 1: never
    drift_by: Floats
    run_s: Floats
    mem_factor: Floats
    limit_factor: Floats
    activity: Floats
    working: Floats
    vram: Floats
    gpus_touched: Ints
    core_use: Floats
    fail: Floats
    throttle: Ints  # array tasks that may run at once; 0: all
    partner: Ints  # the family of the second component of a heterogeneous job; -1: none

    def take(self, rows: Ints) -> "Families":
        """The families of the given rows, in that order."""
        return Families(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def users_of(jobs: int) -> int:
    """How many users submit `jobs` jobs."""
    return int(np.clip(jobs // cal.JOBS_PER_USER, cal.FEWEST_USERS, cal.MOST_USERS))


def draw(cluster: Cluster, jobs: int, rng: np.random.Generator) -> Families:
    """Families for a month of `jobs` jobs on the cluster; every kind of work that fits on it is there."""
    users = users_of(jobs)
    count = max(6 * len(cal.KINDS), users * cal.FAMILIES_PER_USER)
    kind, node_class = _kinds_and_classes(cluster, count)
    kinds = [cal.KINDS[k] for k in kind]
    classes = [cluster.classes[c] for c in node_class]

    def choice(options: list[tuple[int, ...]]) -> Ints:
        return np.array([row[int(u * len(row))] for row, u in zip(options, rng.random(count), strict=True)])

    def between(bounds: list[tuple[float, float]]) -> Floats:
        low, high = np.array(bounds, dtype=float).T
        drawn: Floats = low + (high - low) * rng.random(count)
        return drawn

    size_gpus = np.array([c.gpus for c in classes])
    size_cores = np.array([c.cores for c in classes])
    size_mem = np.array([c.mem_mib for c in classes], dtype=float)
    pool = np.array([len(cluster.nodes[c]) for c in node_class])
    on_gpu = np.array([k.on_gpu for k in kinds])
    gpus = np.minimum(choice([k.gpus for k in kinds]), size_gpus)
    nodes = np.minimum(choice([k.nodes for k in kinds]), np.maximum(1, pool // 3))
    cores = choice([k.cores for k in kinds]) * np.maximum(gpus, 1)
    # never more cores for a GPU than the node's even share and a third: hoarding exists, but not everywhere
    share = np.where(on_gpu, size_cores * gpus * 4 // (3 * np.maximum(size_gpus, 1)), size_cores)
    cores = np.maximum(1, np.minimum(np.minimum(cores, share), size_cores))
    # the need of a GPU's worth of work grows with the memory that stands beside the card
    beside = np.where(on_gpu, size_mem / 128_000 / np.maximum(size_gpus, 1), 1.0)
    need = np.array([k.mem_gib for k in kinds]) * 1024 * np.maximum(gpus, 1) ** 0.8 * np.clip(beside, 0.4, 1.3)
    need *= rng.lognormal(0, cal.MEM_SPREAD, count)
    all_touched = rng.random(count) < np.array([k.touched for k in kinds])
    user, account = _users(users, count, rng)
    families = Families(
        kind=kind,
        user=user,
        account=account,
        weight=_weights(kind, user, rng),
        node_class=node_class,
        preemptible=on_gpu & (nodes == 1) & (rng.random(count) < cal.PREEMPTIBLE),
        typed=rng.random(count) < cal.TYPED,
        stem=rng.integers(1000, size=count),
        model=rng.integers(len(cal.MODELS), size=count),
        nodes=nodes,
        gpus=gpus,
        cores=cores,
        mem_mib=np.minimum(need, cal.LARGEST_NEED * size_mem),
        mem_sigma=rng.uniform(0.06, cal.MEM_SIGMA_MAX, count),
        drift_at=np.where(rng.random(count) < cal.DRIFTING, rng.uniform(0.25, 0.85, count), 2.0),
        drift_by=rng.lognormal(0.1, 0.3, count),
        run_s=np.array([k.run_s for k in kinds])
        * rng.lognormal(0, 1, count) ** np.array([k.run_spread for k in kinds]),
        mem_factor=np.maximum(
            cal.FACTOR_FLOOR, rng.lognormal(np.log(cal.MEM_FACTOR_MEDIAN), cal.MEM_FACTOR_SIGMA, count)
        ),
        limit_factor=np.maximum(
            cal.FACTOR_FLOOR, rng.lognormal(np.log(cal.LIMIT_FACTOR_MEDIAN), cal.LIMIT_FACTOR_SIGMA, count)
        ),
        activity=between([k.activity for k in kinds]),
        working=between([k.working for k in kinds]),
        vram=between([k.vram for k in kinds]),
        gpus_touched=np.where(all_touched, gpus, gpus // 2),
        core_use=between([k.core_use for k in kinds]),
        fail=np.minimum(0.7, np.array([k.fail for k in kinds]) * rng.gamma(3, 1 / 3, count)),
        throttle=np.where(rng.random(count) < cal.THROTTLED, rng.integers(2, 9, count), 0),
        partner=np.full(count, -1),
    )
    return _with_partners(families)


def _kinds_and_classes(cluster: Cluster, count: int) -> tuple[Ints, Ints]:
    """Kinds in turn, so that none is missing; within a kind, classes in proportion to their GPUs."""
    kind = np.arange(count) % len(cal.KINDS)
    round_no = np.arange(count) // len(cal.KINDS)
    gpu_classes = [c for c, size in enumerate(cluster.classes) if size.gpus]
    cards = np.array([cluster.classes[c].gpus * len(cluster.nodes[c]) for c in gpu_classes], dtype=float)
    edges = np.cumsum(cards) / cards.sum()
    golden = (0.5 + 0.618034 * round_no + 0.137 * kind) % 1.0
    gpu_class = np.array(gpu_classes)[np.minimum(np.searchsorted(edges, golden), len(gpu_classes) - 1)]
    on_gpu = np.array([k.on_gpu for k in cal.KINDS])[kind]
    return kind, np.where(on_gpu, gpu_class, len(cluster.classes) - 1)


def _users(users: int, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Every family's user and account: a user has one account, and more families the busier they are."""
    rank = np.arange(1, users + 1) ** -cal.ZIPF_OF_FAMILIES
    user = rng.choice(users, size=count, p=rank / rank.sum())
    accounts = rng.integers(min(len(cal.ACCOUNTS), max(3, users // 5)), size=users)
    return user, accounts[user]


def _weights(kind: Ints, user: Ints, rng: np.random.Generator) -> Floats:
    """Share of submissions: the kind's share of jobs, over its mean burst, by Zipf's law over users."""
    weight = (user + 1.0) ** -cal.ZIPF_OF_SUBMISSIONS * rng.lognormal(0, 0.8, len(user))
    share = np.array([k.job_share / k.burst for k in cal.KINDS])
    total = np.bincount(kind, weights=weight, minlength=len(cal.KINDS))
    weight = weight / total[kind] * share[kind]
    shares: Floats = weight / weight.sum()
    return shares


def _with_partners(families: Families) -> Families:
    """Adds to every heterogeneous family the family of its second component: more cores, more memory."""
    coupled = [k for k, kind in enumerate(cal.KINDS) if kind.name == "coupled"]
    leaders = np.flatnonzero(np.isin(families.kind, coupled))
    second = families.take(leaders)
    second.weight = np.zeros(len(leaders))
    second.cores, second.mem_mib = second.cores * 2, second.mem_mib * 1.5
    families.partner[leaders] = len(families.kind) + np.arange(len(leaders))
    return Families(
        **{f.name: np.concatenate([getattr(families, f.name), getattr(second, f.name)]) for f in fields(families)}
    )
