"""What no accounting knows: each attempt's true need, written beside the evidence, never into it."""

from pathlib import Path

import polars as pl


def frame(records: pl.DataFrame) -> pl.DataFrame:
    """One row an attempt, key (job_id_raw, submit). GPU columns are NULL without GPUs.

    `mem_peak_bytes` is what a full run takes on all nodes, `mem_reached_bytes` what this attempt came to;
    `cores_used_*` are busy cores over all nodes; `gpus_used` the GPUs ever touched; `gpu_util` their mean
    activity in percent and `gpu_idle_share` the part of the time they show none; `run_s` the run time
    without a limit, a failure or a cancellation.
    """
    on_gpu = pl.col("gpus") > 0
    touched = pl.col("gpus_touched") > 0
    return records.filter(~pl.col("folded")).select(
        pl.col("job_id_raw").cast(pl.String),
        "submit",
        "user",
        family=pl.format("{}-{}", "kind", "family"),
        state="state",
        mem_peak_bytes=pl.col("need_kib") * 1024,
        mem_reached_bytes=pl.when(pl.col("elapsed_s") > 0).then(pl.col("reached_kib") * 1024),
        cores_used_mean="core_mean",
        cores_used_max="core_max",
        gpus_used=pl.when(on_gpu).then(pl.col("gpus_touched")),
        vram_peak_bytes=pl.when(on_gpu).then(
            pl.when(touched).then(pl.col("vram_used_bytes")).otherwise(pl.col("driver_bytes"))
        ),
        gpu_util=pl.when(on_gpu).then(pl.when(touched).then(pl.col("gpu_util")).otherwise(0.0)),
        gpu_idle_share=pl.when(on_gpu).then(pl.when(touched).then(pl.col("gpu_idle")).otherwise(1.0)),
        run_s="run_s",
    )


def write(folder: Path, records: pl.DataFrame) -> Path:
    """Writes `attempts.parquet`."""
    path = folder / "attempts.parquet"
    frame(records).write_parquet(path)
    return path
