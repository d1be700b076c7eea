"""A mix of real jobs whose use is known, for the test cluster: what was asked for, and what must be measured.

    mix = jobs.run(cluster)      # about two minutes
    mix["gpu_one_two"].gpus      # (1, 2)

Each job runs `burn`, which uses memory and CPU of a given size. What Slurm's own processes add to a job (some MiB,
some hundredths of a CPU second) is not in these numbers.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from tests.cluster.cluster import Cluster, ClusterError

MIB = 1 << 20


@dataclass(frozen=True)
class Known:
    """One job and what is known of its use. Numbers are per node of the job, and per task of an array."""

    options: tuple[str, ...]
    script: str
    state: str = "COMPLETED"
    user: str = "alice"
    mem_bytes: int | None = None
    """Peak of anonymous and shared memory. None: not known (it was killed on the way)."""
    file_bytes: int = 0
    """Page cache it fills besides."""
    cpu_s: float | None = None
    """CPU seconds used on each node. None: not known."""
    gpus: tuple[int, ...] = ()
    """Indices of the cards it holds."""
    tasks: int = 1
    """Tasks of an array or components of a het job."""
    nodes: int = 1
    """Nodes of each task."""
    restarts: int = 0
    """Runs before its last one, each of the same use."""
    id: str = ""
    """The job's number; of an array or het job the first."""


NOTE = "--note used-$SLURM_JOB_ID"


HOLD_S = 25  # one sample lost at either end is less than a twentieth of the job


def _burn(anon_mib: int, cpu_s: float, hold_s: float = HOLD_S, extra: str = "") -> str:
    return f"burn --anon-mib {anon_mib} --cpu-s {cpu_s} --hold-s {hold_s} {extra}"


def _job(options: str, script: str, **known: object) -> Known:
    return Known(tuple(options.split()), script, **known)  # type: ignore[arg-type]


FIRST = {
    "blocker": _job("-w node1 --gres=gpu:a100:1 --mem=100M", "sleep 600", state="CANCELLED", gpus=(0,)),
}
"""Starts first, so that the next GPU job on its node gets other cards; ends last."""

JOBS = {
    "gpu_one_two": _job(
        "-w node1 --gres=gpu:a100:2 --mem=1G", "srun " + _burn(400, 4), mem_bytes=400 * MIB, cpu_s=4, gpus=(1, 2)
    ),
    "small": _job("--mem=500M", _burn(120, 2), mem_bytes=120 * MIB, cpu_s=2),
    "large": _job("--mem=3G", _burn(1600, 4), user="bob", mem_bytes=1600 * MIB, cpu_s=4),
    "cores": _job("-c4 --mem=1G", _burn(400, 8, extra="--processes 4"), mem_bytes=400 * MIB, cpu_s=8),
    "nodes": _job(
        "-N3 --ntasks-per-node=1 --mem=1G", "srun " + _burn(500, 3), user="bob", mem_bytes=500 * MIB, cpu_s=3, nodes=3
    ),
    "array": _job("--array=1-3 --mem=1G", _burn(400, 2), mem_bytes=400 * MIB, cpu_s=2, tasks=3),
    "het": _job("--mem=1G : --mem=1G", "srun --het-group=0,1 " + _burn(400, 2), mem_bytes=400 * MIB, cpu_s=2, tasks=2),
    # What it takes to touch the spike's pages is not known beforehand, so its CPU is not.
    "spike": _job("--mem=2G", _burn(300, 2, extra="--spike-mib 700"), mem_bytes=1000 * MIB),
    "shared": _job("--mem=1G", _burn(300, 2, extra="--shm-mib 300"), mem_bytes=600 * MIB, cpu_s=2),
    "cache": _job(
        "--mem=2G", _burn(400, 2, extra="--file-mib 300"), mem_bytes=400 * MIB, file_bytes=300 * MIB, cpu_s=2
    ),
    "failed": _job("--mem=1G", _burn(300, 2, extra="--exit 3"), state="FAILED", mem_bytes=300 * MIB, cpu_s=2),
    "oom": _job("--mem=200M", _burn(600, 0), user="bob", state="OUT_OF_MEMORY"),
    # How much CPU it gets in its minute depends on the machine.
    "timeout": _job("-t 1 --mem=1G", _burn(400, 0, 600), user="bob", state="TIMEOUT", mem_bytes=400 * MIB),
    "cancelled": _job("--mem=1G", _burn(400, 2, 600, NOTE), state="CANCELLED", mem_bytes=400 * MIB, cpu_s=2),
    "never_started": _job("--begin=now+1hour", "true", state="CANCELLED"),
    "requeued": _job("--requeue --mem=1G", _burn(400, 2, 8, NOTE), mem_bytes=400 * MIB, cpu_s=2, restarts=1),
}

INTERVENTIONS = {"never_started": ["scancel"], "cancelled": ["scancel"], "requeued": ["scontrol", "requeue"]}
"""What is done to a job: once it says that it has used what is known of it, if it says so, else at once."""


def run(cluster: Cluster, names: Collection[str] = JOBS.keys(), timeout_s: float = 400) -> dict[str, Known]:
    """Runs the mix (the jobs named, and FIRST) to its end and returns it with the jobs' numbers, each job in the state that is known of it."""
    mix = {name: _submit(cluster, job) for name, job in FIRST.items()}
    cluster.wait([job.id for job in mix.values()], {"RUNNING"})
    mix |= {name: _submit(cluster, job) for name, job in JOBS.items() if name in names}
    for name, do in INTERVENTIONS.items():
        if name in mix:
            if NOTE in mix[name].script:
                _await_note(cluster, mix[name])
            cluster.run(cluster.controller, [*do, mix[name].id])
    blockers = {mix[name].id for name in FIRST}
    cluster.wait([job.id for job in mix.values() if job.id not in blockers], timeout_s=timeout_s)
    for job in blockers:
        cluster.run(cluster.controller, ["scancel", job])
    cluster.wait(blockers)
    return mix


def _await_note(cluster: Cluster, job: Known) -> None:
    """Waits until a job has used what is known of it, and two seconds in which that can be sampled."""
    end = time.monotonic() + 150
    while not (cluster.home / job.user / f"used-{job.id}").exists():
        if time.monotonic() > end:
            raise ClusterError(f"job {job.id} has not used what it was to use")
        time.sleep(0.1)
    time.sleep(2)


def _submit(cluster: Cluster, job: Known) -> Known:
    return replace(job, id=cluster.submit(job.user, *job.options, script=job.script))
