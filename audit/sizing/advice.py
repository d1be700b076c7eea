"""What the model would have advised each attempt before it started: written down for the report, at each quantile."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.sizing.attempts import LEVELS
from audit.sizing.bounds import killed_at, most_like, used_all
from audit.sizing.cases import Cases
from audit.sizing.policy import at_least_known, at_most_asked, never_fewer, whole
from audit.sizing.replay import Replay
from audit.workspace import QUANTILES

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = {"memory": "mem_bytes", "gpus": "gpus", "cores": "cores"}  # of the targets that a request can name
_KEY = ("cluster", "job_id_raw", "submit")


def write_advice(cases: Cases, replays: Mapping[str, Replay], path: Path, mem_step_bytes: float) -> Path:
    """Writes one row an attempt and quantile: amounts over all nodes, NULL where the request is kept.

    A file is replaced whole: a reader finds the old one or the new one.
    """
    import polars as pl

    schema: dict[str, Any] = {
        "cluster": pl.String,
        "job_id_raw": pl.String,
        "submit": pl.Datetime("us"),
        "quantile": pl.Float64,
    }
    told = [pl.DataFrame(schema=schema | dict.fromkeys(_COLUMNS.values(), pl.Float64))]
    for target, column in _COLUMNS.items():
        if target in replays and (target != "cores" or cases.lowers_cores):
            told += [_told(cases, replays[target], quantile, column, mem_step_bytes) for quantile in QUANTILES]
    rows = pl.concat(told, how="diagonal").group_by(*_KEY, "quantile").agg(pl.col(c).max() for c in _COLUMNS.values())
    rows = rows.with_columns(abstained=pl.all_horizontal(pl.col(c).is_null() for c in _COLUMNS.values()))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        rows.sort(*_KEY, "quantile").write_parquet(beside)
        return beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _told(cases: Cases, replay: Replay, quantile: float, column: str, mem_step_bytes: float) -> "pl.DataFrame":
    import polars as pl

    problem, target = replay.problem, replay.problem.target.name
    key = cases.keys[target]
    forecast = np.where(replay.abstained, np.nan, replay.issued[:, LEVELS.index(quantile)])
    amount = whole(problem.target, np.where(np.isfinite(forecast), np.exp(forecast), np.nan))
    if target == "memory":
        amount = at_least_known(amount, *killed_at(replay.known), step=mem_step_bytes)
    if problem.target.whole:
        amount[used_all(replay.known)] = np.nan
    amount[key.nodes > 1] = np.nan  # how it is spread over nodes is not known: one fat node must not be hidden
    amount = at_most_asked(never_fewer(problem.target, amount, most_like(replay.known)), problem.asked)
    return pl.DataFrame(
        {
            "cluster": key.cluster.astype(str),
            "job_id_raw": key.job_id_raw.astype(str),
            "submit": pl.Series(np.round(key.submit_s * 1e6).astype(np.int64)).cast(pl.Datetime("us")),
            "quantile": pl.repeat(quantile, len(problem), dtype=pl.Float64, eager=True),
            column: pl.Series(amount, nan_to_null=True),
        }
    ).filter(pl.Series(np.isfinite(problem.attempts.start_s)))
