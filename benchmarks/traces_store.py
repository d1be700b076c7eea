"""Engagements and generated months as traces: every target that was measured, out of the store."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from audit.sizing.attempts import Floats
from audit.sizing.cases import Cases, cases
from audit.store import open_current
from audit.terminal import say
from audit.workspace import find_workspace
from benchmarks.measure import run
from benchmarks.trace import Trace

TRUE = {
    "memory": "mem_peak_bytes", "walltime": "run_s", "cores": "cores_used_max", "gpus": "gpus_used",
    "vram": "vram_peak_bytes", "gpu_activity": "gpu_util",
}  # fmt: skip


def read_workspace(folder: Path) -> Trace:
    """The trace of an engagement's folder. AuditError where it is none, or nothing was ingested."""
    return _trace(folder, folder.resolve().name)


def month(seed: int, *, jobs: int, gpus: int, days: int) -> Trace:
    """A generated month, with what its attempts truly needed."""
    with tempfile.TemporaryDirectory(prefix="accuracy-") as name:
        folder = Path(name) / "month"
        audit = [sys.executable, "-m", "audit"]
        size = ["--jobs", str(jobs), "--gpus", str(gpus), "--days", str(days), "--seed", str(seed)]
        run([*audit, "demo", str(folder), *size, "--only-generate"])
        run([*audit, "ingest", "--dir", str(folder)])
        return _trace(folder, f"month {seed}", truth=folder / "truth" / "attempts.parquet")


def _trace(folder: Path, name: str, truth: Path | None = None) -> Trace:
    from audit.accounting.views import create_use_views

    workspace, found = find_workspace(folder), {}
    with open_current(workspace, say) as store:
        create_use_views(store.connection, workspace)
        for mode in ("submit", "start"):
            found[mode] = cases(store.connection, at_start=mode == "start")
    true = {mode: _true_needs(each, truth) if truth else {} for mode, each in found.items()}
    generated = truth is not None or workspace.config.generated_sample
    return Trace(
        name=name,
        kind="generated" if generated else "engagement",
        problems=lambda mode: found[mode].problems,
        users=tuple(found["submit"].users),
        rows={"attempts": max((len(p) for p in found["submit"].problems.values()), default=0)},
        notes={"data": "generated: what it shows holds for the generator"} if generated else {},
        true_needs=lambda mode: true[mode],
    )


def _true_needs(found: Cases, truth: Path) -> Mapping[str, Floats]:
    """What each attempt of each problem truly needed, row by row."""
    import polars as pl

    true = pl.read_parquet(truth)
    needs = {}
    for name, key in found.keys.items():
        column = "cores_used_mean" if name == "cores" and not found.lowers_cores else TRUE[name]
        rows = pl.DataFrame({"job_id_raw": key.job_id_raw.astype(str), "submit": key.submit_s.astype(np.int64)})
        joined = rows.join(true, on=["job_id_raw", "submit"], how="left", maintain_order="left")
        needs[name] = joined[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return needs
