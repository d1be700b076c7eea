"""Makes the sample: population, arrivals, a real scheduling of the nodes, then the text a site would send."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from audit.sample import arrivals, jobstats, outages, population, records, render, schedule, steps
from audit.sample import calibration as cal
from audit.sample import jobs as job_draws
from audit.sample import truth as truths
from audit.sample.cluster import Cluster, NodeNow, build, inventory_text
from audit.sample.jobs import Jobs
from audit.sample.population import Families
from audit.sample.trouble import NONE, Trouble, newcomers_late, troubled, unwatched
from audit.sample.work import RUNNING, Shape, Work


@dataclass(frozen=True)
class SampleSummary:
    """What was made. The window is UTC, from inclusive, to exclusive; `inventory` counts nodes by class."""

    evidence: tuple[Path, ...]
    truth: Path
    cluster: str
    timezone: str
    window_from: datetime
    window_to: datetime
    jobs: int
    attempts: int
    steps: int
    nodes: int
    gpus: int
    inventory: dict[str, int]
    seed: int


def generate(
    evidence: Path, truth: Path, *, jobs: int = 20_000, gpus: int = 100, days: int = 30, seed: int = 1,
    sampling_s: float = 0, trouble: Trouble = NONE,
) -> SampleSummary:  # fmt: skip
    """Writes accounting, node inventory and node events into `evidence`, and `attempts.parquet` aside.

    About `jobs` jobs touch the window. `sampling_s` above 0 records peaks as a sampler of that interval
    would have seen them; `trouble` is what makes a month hard to foresee. The same arguments give the same bytes.
    Raises UsageError for a cluster of no GPU.
    """
    evidence.mkdir(parents=True, exist_ok=True)
    truth.mkdir(parents=True, exist_ok=True)
    window_from = int(cal.WINDOW_FROM.timestamp())
    window_to = window_from + days * 86400
    start = window_from - min(cal.LEAD_IN_S, days * 86400)
    rng = np.random.default_rng(seed)
    cluster = build(gpus)
    wanted = round(jobs * (window_to - start) / (window_to - window_from))
    families = troubled(population.draw(cluster, wanted, rng), trouble)
    submitted = newcomers_late(
        arrivals.draw(families, wanted, start, window_to, rng), families, trouble, half=(start + window_to) // 2
    )
    drawn = job_draws.draw(cluster, families, submitted, (start, window_to), rng)
    spells = outages.draw(cluster, start, window_to, rng)
    attempts = schedule.place(cluster, _work(families, drawn, rng), spells, window_to)
    made = records.build(cluster, families, drawn, attempts, horizon=window_to, sampling_s=sampling_s, rng=rng)
    made = unwatched(made, trouble)
    made = made.filter(pl.col("end").is_null() | (pl.col("end") > window_from)).sort("submit", "job_id_raw")
    made = made.with_row_index("record")
    made = made.with_columns(jobstats.comments(made, cluster, attempts, sampling_s))
    made_steps = steps.build(made)
    files = list(render.write(evidence, render.lines(made, made_steps)))
    files += _write_nodes(evidence, cluster, made, spells, (window_from, window_to))
    shown = made.filter(~pl.col("folded"))
    return SampleSummary(
        evidence=tuple(files),
        truth=truths.write(truth, made),
        cluster=cal.CLUSTER,
        timezone=cal.TIME_ZONE,
        window_from=datetime.fromtimestamp(window_from, UTC),
        window_to=datetime.fromtimestamp(window_to, UTC),
        jobs=made["job"].n_unique(),
        attempts=len(shown),
        steps=len(made_steps),
        nodes=len(cluster.node_names),
        gpus=cluster.gpus,
        inventory={size.name: len(nodes) for size, nodes in zip(cluster.classes, cluster.nodes, strict=True)},
        seed=seed,
    )


def _work(families: Families, jobs: Jobs, rng: np.random.Generator) -> Work:
    """The jobs as the scheduler sees them; second components ride along in their leaders' shapes."""
    count = len(jobs.family)
    family = families.take(jobs.family)
    second = np.full(count, -1)
    rows = np.flatnonzero(jobs.leader >= 0)
    second[jobs.leader[rows]] = rows
    mates = np.where(second >= 0, second, 0)
    keys = np.stack(
        [family.node_class, family.nodes, family.cores, jobs.mem_mib, family.gpus, family.preemptible,
         np.where(second >= 0, family.cores[mates], 0), np.where(second >= 0, jobs.mem_mib[mates], 0)],
        axis=1,
    )  # fmt: skip
    unique, shape = np.unique(keys, axis=0, return_inverse=True)
    alone = jobs.leader < 0
    requeue = np.where(rng.random(count) < cal.REQUEUED_BY_HAND, jobs.hold_s * rng.uniform(0.1, 0.9, count), np.inf)
    gives_up = (rng.random(count) < cal.WITHDRAWN) & (jobs.follows < 0)
    withdraw = np.where(gives_up, rng.exponential(cal.WITHDRAW_AFTER_S, count), np.inf)
    first_of_burst = np.full(int(jobs.burst.max()) + 1, -1)
    np.maximum.at(first_of_burst, jobs.burst, jobs.submit)
    return Work(
        shapes=[_shape(key) for key in unique.tolist()],
        shape=shape.ravel().tolist(),
        submit=np.where(alone, jobs.submit, -1).tolist(),
        follows=jobs.follows.tolist(),
        only_after_natural=jobs.second_try.tolist(),
        delay_s=jobs.delay_s.tolist(),
        inherits_submit=((jobs.task >= 0) & (jobs.follows >= 0)).tolist(),
        hold_s=jobs.hold_s.tolist(),
        limit_s=jobs.limit_s.tolist(),
        withdraw_s=withdraw.tolist(),
        requeue_s=requeue.tolist(),
        requeues=(rng.random(count) < cal.REQUEUE_ON_NODE_FAIL).tolist(),
        array_submit=first_of_burst[jobs.burst].tolist(),
    )


def _shape(key: list[int]) -> Shape:
    node_class, nodes, cores, mem_mib, gpus, preemptible, mate_cores, mate_mem = key
    mate = Shape(node_class, 1, mate_cores, mate_mem, 0, preemptible=False) if mate_cores else None
    return Shape(node_class, nodes, cores, mem_mib, gpus, bool(preemptible), mate)


def _write_nodes(
    evidence: Path,
    cluster: Cluster,
    made: pl.DataFrame,
    spells: list[outages.Outage],
    window: tuple[int, int],
) -> list[Path]:
    """Writes `nodes.txt` as it stood at the window's end, and `node_events.txt`."""
    running = made.filter(pl.col("why") == RUNNING).explode("node_ids")
    share = [pl.col(name) // pl.col("nodes") for name in ("cores", "mem_mib", "gpus")]
    held = {
        node: (cores, mem, cards)
        for node, cores, mem, cards in running.select("node_ids", *share).group_by("node_ids").sum().iter_rows()
    }
    down = {spell.node: spell.state for spell in spells if spell.start < window[1] <= spell.end}
    state = {"DOWN*": "DOWN*+NOT_RESPONDING", "MAINT": "IDLE+MAINT", "DRAIN": "IDLE+DRAIN"}
    now = []
    for node in range(len(cluster.node_names)):
        cores, mem, cards = held.get(node, (0, 0, 0))
        shown = state[down[node]] if node in down else ""
        now.append(NodeNow(cores, mem, cards, shown.replace("IDLE", "MIXED") if cores else shown))
    booted = (cal.WINDOW_FROM - timedelta(days=40)).strftime("%Y-%m-%dT%H:%M:%S")
    inventory, events = evidence / "nodes.txt", evidence / "node_events.txt"
    inventory.write_text(inventory_text(cluster, now, booted), encoding="utf-8")
    events.write_text(outages.events_text(spells, cluster, *window), encoding="utf-8")
    return [inventory, events]
