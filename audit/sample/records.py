"""Attempts as accounting keeps them: ids, times, states, and what was recorded of their use."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.sample import calibration as cal
from audit.sample.cluster import MIB, PREEMPTIBLE_PARTITION, Cluster
from audit.sample.identity import identify, node_lists
from audit.sample.jobs import Jobs
from audit.sample.population import Families, Flags, Floats, Ints
from audit.sample.work import (
    NODE_FAIL,
    PENDING,
    PREEMPTED,
    REQUEUED,
    RUNNING,
    WITHDRAWN,
    Attempts,
)

Texts = NDArray[np.str_]

OUTCOME_STATES = np.array(["COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "TIMEOUT"])
FAILURE_CODES = np.array(["1:0", "1:0", "1:0", "2:0", "127:0", "0:11", "0:9", "137:0"])
FIRST_UID = 10_000
_WHY_STATES = {
    NODE_FAIL: "NODE_FAIL",
    PREEMPTED: "PREEMPTED",
    REQUEUED: "REQUEUED",
    WITHDRAWN: "CANCELLED",
    RUNNING: "RUNNING",
    PENDING: "PENDING",
}


def build(
    cluster: Cluster, families: Families, jobs: Jobs, attempts: Attempts, *,
    horizon: int, sampling_s: float, rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """One row a record, whole numbers in seconds, MiB and KiB; `start` and `end` NULL where there is none.

    `need_kib` is what a full run takes, `reached_kib` what this attempt came to, `seen_kib` what accounting
    recorded of it: NULL where it recorded nothing, 0 where it had no time to look.
    """
    job, which, component = _with_components(jobs, attempts)
    start = np.array(attempts.start, dtype=np.int64)[which]
    end = np.array(attempts.end, dtype=np.int64)[which]
    why = np.array(attempts.why, dtype=np.int64)[which]
    submit = np.array(attempts.submit, dtype=np.int64)[which]
    drawn, family = jobs.take(job), families.take(jobs.family[job])
    ids = identify(jobs, families, job, why=why, submit=submit, start=start, end=end)
    state = _states(why, drawn)
    elapsed = np.where(start < 0, 0, np.where(end < 0, horizon, end) - start)
    reached = _reached(drawn, family, elapsed, state)
    seen, sampled = _seen(reached, drawn, elapsed, state=state, sampling_s=sampling_s, rng=rng)
    lists, firsts, held = node_lists(cluster, attempts, which, component, family.nodes)
    classes = [cluster.classes[k] for k in family.node_class]
    vram = np.array([size.vram_bytes for size in classes])
    driver = np.array([size.driver_bytes for size in classes])
    used_mib = (drawn.vram * vram / MIB).astype(np.int64)
    return pl.DataFrame(
        {
            "job": job,
            "attempt": which,
            "component": component,
            "job_id": ids.job_id,
            "job_id_raw": ids.job_id_raw,
            "db_index": ids.db_index,
            "name": ids.name,
            "user": np.char.add("user", np.char.zfill((family.user + 1).astype(str), 3)),
            "account": np.array(cal.ACCOUNTS)[family.account],
            "partition": np.where(
                family.preemptible, PREEMPTIBLE_PARTITION, np.array([size.partition for size in classes])
            ),
            "qos": np.where(family.preemptible, "preempt", "normal"),
            "submit": submit,
            "eligible": np.array(attempts.eligible, dtype=np.int64)[which],
            "start": pl.Series(start).replace(-1, None),
            "end": pl.Series(end).replace(-1, None),
            "elapsed_s": elapsed,
            "why": why,
            "state": state,
            "exit_code": _exit_codes(state, drawn),
            "uid": FIRST_UID + family.user,
            "limit_s": drawn.limit_s,
            "nodes": family.nodes,
            "cores": family.cores * family.nodes,
            "mem_mib": drawn.mem_mib * family.nodes,
            "gpus": family.gpus * family.nodes,
            "gpu_type": [size.gpu_type for size in classes],
            "vram_bytes": vram,
            "driver_bytes": driver,
            "vram_used_bytes": np.minimum(driver + used_mib * MIB, vram),
            "typed": family.typed,
            "node_list": lists,
            "first_node": firsts,
            "node_ids": pl.Series(held, dtype=pl.List(pl.Int64)),
            "folded": ids.folded,
            "throttle": family.throttle,
            "steps": np.array([kind.steps for kind in cal.KINDS])[family.kind],
            "leader": drawn.leader,
            "tasks": _tasks(family),
            "fat": (drawn.label % 997) / 997 * 0.6,
            "label": drawn.label,
            "need_kib": drawn.peak_kib,
            "reached_kib": reached,
            "seen_kib": pl.Series(seen).set(pl.Series(~sampled), None),
            "core_mean": drawn.core_mean,
            "core_max": drawn.core_max,
            "gpus_touched": family.gpus_touched * family.nodes,
            "gpu_util": drawn.activity * drawn.working,
            "gpu_idle": 1 - drawn.working,
            "run_s": drawn.run_s,
            "family": drawn.family,
            "kind": np.array([kind.name for kind in cal.KINDS])[family.kind],
        }
    )  # fmt: skip


def _with_components(jobs: Jobs, attempts: Attempts) -> tuple[Ints, Ints, Ints]:
    """Job, attempt and component of every record: heterogeneous jobs have two records an attempt."""
    job = np.array(attempts.job, dtype=np.int64)
    second = np.full(len(jobs.family), -1)
    rows = np.flatnonzero(jobs.leader >= 0)
    second[jobs.leader[rows]] = rows
    paired = np.flatnonzero(second[job] >= 0)
    which = np.concatenate([np.arange(len(job)), paired])
    component = np.where(np.isin(which, paired), 0, -1)
    component[len(job) :] = 1
    return np.concatenate([job, second[job[paired]]]), which, component


def _states(why: Ints, drawn: Jobs) -> Texts:
    state = OUTCOME_STATES[drawn.outcome].astype("U16")
    for code, name in _WHY_STATES.items():
        state[why == code] = name
    return state


def _exit_codes(state: Texts, drawn: Jobs) -> list[str]:
    failure = FAILURE_CODES[drawn.label % len(FAILURE_CODES)]
    codes = np.select([state == "FAILED", state == "OUT_OF_MEMORY"], [failure, "0:125"], "0:0")
    return [str(code) for code in codes]


def _reached(drawn: Jobs, family: Families, elapsed: Ints, state: Texts) -> Ints:
    """The peak an attempt came to: its need once the peak is past, less before, never above the request."""
    progress = elapsed / drawn.run_s
    full = progress >= drawn.peak_at
    ramp = 0.3 + 0.7 * np.minimum(1, progress / np.maximum(drawn.peak_at, 1e-9))
    reached = np.where(full, drawn.peak_kib, drawn.peak_kib * ramp).astype(np.int64)
    asked = drawn.mem_mib * family.nodes * 1024
    ceiling = (asked * (0.985 + 0.014 * (drawn.label % 101) / 101)).astype(np.int64)
    over = (drawn.peak_kib > asked) & ((state == "OUT_OF_MEMORY") | (reached > ceiling))
    return np.where(over, ceiling, reached) | 1


def _seen(
    reached: Ints, drawn: Jobs, elapsed: Ints, *, state: Texts, sampling_s: float, rng: np.random.Generator
) -> tuple[Ints, Flags]:  # fmt: skip
    """What accounting recorded, and whether it recorded anything.

    Without a sampling interval it is what was reached. With one, a peak that falls between two samples is
    missed and the level before it recorded; an attempt shorter than the interval leaves nothing.
    """
    silent = np.isin(state, ["RUNNING", "PENDING", "NODE_FAIL"]) | (elapsed < sampling_s)
    seen = np.where(elapsed < cal.UNSAMPLED_S, 0, reached)
    if sampling_s > 0:
        length = drawn.run_s * np.minimum(1, rng.lognormal(np.log(0.1), 1.4, len(reached)))
        watched = np.minimum(length, np.maximum(0, elapsed - drawn.run_s * drawn.peak_at))
        missed = rng.random(len(reached)) >= np.minimum(1, watched / sampling_s)
        level: Floats = reached * rng.uniform(0.35, 0.97, len(reached))
        seen = np.where(missed & (seen > 0), level.astype(np.int64) | 1, seen)
    return seen, ~silent


def _tasks(family: Families) -> Ints:
    """Tasks of the main step: one a GPU, one a core of an MPI job, else one."""
    mpi = np.isin(family.kind, [k for k, kind in enumerate(cal.KINDS) if kind.name in ("mpi", "coupled")])
    tasks = np.where(family.gpus > 0, family.gpus, np.where(mpi, family.cores, 1))
    srun = np.isin(family.kind, [k for k, kind in enumerate(cal.KINDS) if kind.steps == "srun"])
    return np.where(srun, tasks * family.nodes, 1)
