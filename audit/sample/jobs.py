"""The jobs of the month: what each needs, what was asked for it, and how it would end by itself."""

from dataclasses import dataclass, fields, replace

import numpy as np

from audit.sample import calibration as cal
from audit.sample.arrivals import Arrivals
from audit.sample.cluster import Cluster
from audit.sample.population import NICE_MIB, NICE_MINUTES, Families, Flags, Floats, Ints, nice

COMPLETED, FAILED, CANCELLED, OUT_OF_MEMORY, TIMEOUT = range(5)


@dataclass
class Jobs:
    """One entry a job. `_at` are shares of the run; infinite where it does not happen."""

    family: Ints
    submit: Ints  # epoch; -1: when what it follows has ended
    burst: Ints
    task: Ints  # index in its array; -1: none
    leader: Ints  # the first component, for the second one of a heterogeneous job; -1: none
    follows: Ints
    second_try: Flags
    delay_s: Ints
    mem_mib: Ints  # asked for, per node
    limit_s: Ints
    peak_kib: Ints  # need, all nodes together
    peak_at: Floats
    run_s: Ints  # without a limit
    fail_at: Floats
    cancel_at: Floats
    core_mean: Floats  # cores busy, all nodes together
    core_max: Floats
    working: Floats
    activity: Floats
    vram: Floats
    label: Ints  # random digits for names, exit codes and the like
    outcome: Ints
    hold_s: Ints

    def take(self, rows: Ints) -> "Jobs":
        """The jobs of the given rows, in that order."""
        return Jobs(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def followed_by(self, more: "Jobs") -> "Jobs":
        """These jobs and then `more`."""
        return Jobs(**{f.name: np.concatenate([getattr(self, f.name), getattr(more, f.name)]) for f in fields(self)})


def draw(
    cluster: Cluster, families: Families, arrivals: Arrivals, span: tuple[int, int], rng: np.random.Generator
) -> Jobs:
    """Jobs for the arrivals, sized so that together they ask for about the demand the cluster is to bear."""
    family, count = arrivals.family, len(arrivals.family)
    drifted = (arrivals.submit - span[0]) / (span[1] - span[0]) > families.drift_at[family]
    size_mem = np.array([size.mem_mib for size in cluster.classes])[families.node_class]
    need = families.mem_mib[family] * np.where(drifted, families.drift_by[family], 1.0)
    need *= rng.lognormal(0, 1, count) ** families.mem_sigma[family]
    need = np.clip(need, 40, 0.8 * size_mem[family])
    asked = np.minimum(nice(families.mem_mib * families.mem_factor, NICE_MIB), size_mem)
    on_gpu = families.gpus[family] > 0
    cores = families.cores[family] * families.nodes[family]
    core_mean = np.clip(families.core_use[family] * rng.lognormal(0, 0.12, count), 0.01, 0.995) * cores
    cancel = np.where(on_gpu, cal.CANCEL_GPU, cal.CANCEL_CPU)
    sigma = np.array([kind.run_sigma for kind in cal.KINDS])[families.kind[family]]
    jobs = Jobs(
        family=family,
        submit=arrivals.submit,
        burst=arrivals.burst,
        task=arrivals.task,
        leader=np.full(count, -1),
        follows=np.full(count, -1),
        second_try=np.zeros(count, dtype=bool),
        delay_s=np.zeros(count, dtype=np.int64),
        mem_mib=asked[family],
        limit_s=np.zeros(count, dtype=np.int64),
        peak_kib=(need * families.nodes[family] * 1024).astype(np.int64) | 1,
        peak_at=rng.beta(1, 3, count),
        run_s=np.zeros(count, dtype=np.int64),
        fail_at=np.where(rng.random(count) < families.fail[family], rng.beta(0.6, 1.6, count), np.inf),
        cancel_at=np.where(rng.random(count) < cancel, rng.uniform(0.05, 1, count), np.inf),
        core_mean=core_mean,
        core_max=np.minimum(cores, core_mean * rng.uniform(1.05, 2.2, count)),
        working=np.clip(families.working[family] * rng.lognormal(0, 0.1, count), 0.005, 0.995),
        activity=np.clip(families.activity[family] * rng.lognormal(0, 0.12, count), 1, 100),
        vram=np.clip(families.vram[family] * rng.lognormal(0, 0.08, count), 0.01, 0.99),
        label=rng.integers(1 << 32, size=count),
        outcome=np.zeros(count, dtype=np.int64),
        hold_s=np.zeros(count, dtype=np.int64),
    )
    spread = rng.lognormal(0, 1, count) ** sigma
    spread *= np.where(rng.random(count) < cal.HANGING, rng.uniform(2, 12, count), 1.0)
    jobs = _scaled_to_capacity(cluster, families, jobs, spread, span[1] - span[0])
    jobs = _with_idle_share(families, _ended(families, jobs))
    jobs = _with_partners(families, jobs, size_mem)
    jobs = _throttled(families, jobs)
    return _with_second_tries(families, jobs, size_mem, rng)


def _ended(families: Families, jobs: Jobs) -> Jobs:
    """Each job's outcome and run time from what happens to it first."""
    asked_kib = jobs.mem_mib * 1024 * families.nodes[jobs.family]
    moments = np.stack(
        [
            np.ones(len(jobs.family)) * jobs.run_s,
            jobs.run_s * jobs.fail_at,
            jobs.run_s * jobs.cancel_at,
            np.where(jobs.peak_kib > asked_kib, jobs.run_s * jobs.peak_at, np.inf),
            jobs.limit_s + jobs.label % 30,  # the controller looks at limits every half minute
        ]
    )
    outcome = moments.argmin(axis=0)
    return replace(jobs, outcome=outcome, hold_s=np.maximum(moments.min(axis=0), 0).astype(np.int64))


def _run_times(families: Families, jobs: Jobs, spread: Floats, scale: Floats, longest_s: float) -> Jobs:
    """Jobs whose families run longer by `scale` of their node class; short work stays short."""
    weight = np.clip(np.log(families.run_s / 120) / np.log(20), 0, 1)
    median = families.run_s * scale[families.node_class] ** weight
    median = np.minimum(median, longest_s / 3)
    limits = nice(median * families.limit_factor / 60, NICE_MINUTES) * 60
    run = np.minimum(median[jobs.family] * spread, longest_s)
    jobs = replace(jobs, run_s=np.maximum(1, run).astype(np.int64), limit_s=limits[jobs.family])
    return _ended(families, jobs)


def _scaled_to_capacity(cluster: Cluster, families: Families, jobs: Jobs, spread: Floats, span_s: int) -> Jobs:
    """Finds, by halving, the scale of run times at which each node class is asked for its share of demand."""
    longest_s = min(cal.LONGEST_RUN_S, 0.35 * span_s)
    held = np.where(families.gpus > 0, families.gpus, families.cores) * families.nodes
    node_class = families.node_class[jobs.family]
    sizes = [(size.gpus or size.cores) * len(n) for size, n in zip(cluster.classes, cluster.nodes, strict=True)]
    demand = np.array([cal.GPU_DEMAND if size.gpus else cal.CPU_DEMAND for size in cluster.classes])
    wanted = demand * np.array(sizes) * span_s
    low, high = np.full(len(sizes), np.log(0.01)), np.full(len(sizes), np.log(300.0))
    for _ in range(18):
        middle = (low + high) / 2
        trial = _run_times(families, jobs, spread, np.exp(middle), longest_s)
        got = np.bincount(node_class, weights=held[jobs.family] * trial.hold_s, minlength=len(sizes))
        low, high = np.where(got < wanted, middle, low), np.where(got < wanted, high, middle)
    return _run_times(families, jobs, spread, np.exp(low), longest_s)


def _with_idle_share(families: Families, jobs: Jobs) -> Jobs:
    """Bends the working shares so that the calibrated part of held GPU time shows no activity."""
    time = families.gpus[jobs.family] * families.nodes[jobs.family] * jobs.hold_s
    if not time.sum():
        return jobs
    touched = families.gpus_touched[jobs.family] / np.maximum(1, families.gpus[jobs.family])
    low, high = np.log(0.05), np.log(20.0)
    for _ in range(30):
        power = np.exp((low + high) / 2)
        idle = 1 - np.average(touched * jobs.working**power, weights=time)
        low, high = ((low + high) / 2, high) if idle < cal.IDLE_GPU_SAMPLES else (low, (low + high) / 2)
    return replace(jobs, working=jobs.working**power)


def _with_partners(families: Families, jobs: Jobs, size_mem: Ints) -> Jobs:
    """Adds the second component of every heterogeneous job: it starts, ends and fares as the first does."""
    leaders = np.flatnonzero(families.partner[jobs.family] >= 0)
    second = jobs.take(leaders)
    ratio = families.cores[families.partner[second.family]] / families.cores[second.family]
    second.family = families.partner[second.family]
    second.leader, second.submit = leaders, np.full(len(leaders), -1)
    peak = (np.minimum(second.peak_kib / 1024 * 1.4, 0.7 * size_mem[second.family]) * 1024).astype(np.int64) | 1
    second.peak_kib = peak
    fitting = nice(peak / 1024 * 1.3, NICE_MIB)
    second.mem_mib = np.minimum(np.maximum(second.mem_mib, fitting), size_mem[second.family])
    second.outcome = np.where(second.outcome == OUT_OF_MEMORY, FAILED, second.outcome)  # it is dragged along
    second.core_mean, second.core_max = second.core_mean * ratio, second.core_max * ratio
    return jobs.followed_by(second)


def _throttled(families: Families, jobs: Jobs) -> Jobs:
    """Array tasks beyond the throttle become eligible when an earlier one has ended."""
    throttle = families.throttle[jobs.family]
    late = (jobs.task >= throttle) & (throttle > 0)
    rows = np.arange(len(jobs.family))
    return replace(jobs, follows=np.where(late, rows - throttle, jobs.follows), submit=np.where(late, -1, jobs.submit))


def _with_second_tries(families: Families, jobs: Jobs, size_mem: Ints, rng: np.random.Generator) -> Jobs:
    """Adds what users submit after an OOM (twice the memory) or a timeout (twice the time)."""
    latest = np.arange(len(jobs.family))
    for _ in range(cal.RETRIES):
        tried = jobs.take(latest)
        chance = np.select(
            [tried.outcome == OUT_OF_MEMORY, tried.outcome == TIMEOUT],
            [cal.RETRY_OOM, cal.RETRY_TIMEOUT],
            0.0,
        )
        alone = (tried.leader < 0) & (families.partner[tried.family] < 0)
        again = np.flatnonzero((rng.random(len(latest)) < chance) & alone)
        more = tried.take(again)
        oom = more.outcome == OUT_OF_MEMORY
        doubled = np.minimum(nice((more.mem_mib * 2).astype(np.float64), NICE_MIB), size_mem[more.family])
        more.mem_mib = np.where(oom, doubled, more.mem_mib)
        longer = nice((more.limit_s / 30).astype(np.float64), NICE_MINUTES) * 60
        more.limit_s = np.where(oom, more.limit_s, longer)
        more.follows, more.second_try = latest[again], np.ones(len(again), dtype=bool)
        more.submit, more.task = np.full(len(again), -1), np.full(len(again), -1)
        more.delay_s = rng.exponential(cal.RETRY_AFTER_S, len(again)).astype(np.int64) + 20
        more.fail_at = np.where(oom, more.fail_at, np.inf)
        latest = len(jobs.family) + np.arange(len(again))
        jobs = jobs.followed_by(_ended(families, more))
    return jobs
