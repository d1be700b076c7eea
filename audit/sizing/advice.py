"""What the model would have advised each attempt before it started: written down for the report, at each quantile."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from audit.sizing.attempts import LEVELS, Floats
from audit.sizing.cases import Cases
from audit.sizing.policy import whole
from audit.sizing.replay import Replay
from audit.workspace import QUANTILES

_COLUMNS = {"memory": "mem_bytes", "gpus": "gpus", "cores": "cores"}  # of the targets that a request can name


def write_advice(cases: Cases, replays: Mapping[str, Replay], path: Path) -> Path:
    """Writes one row an attempt and quantile: amounts over all nodes, NULL where the request is kept.

    A file is replaced whole: a reader finds the old one or the new one.
    """
    import polars as pl

    told = []
    for target, column in _COLUMNS.items():
        if target not in replays or (target == "cores" and not cases.lowers_cores):
            continue
        for quantile in QUANTILES:
            told.append(_told(cases, replays[target], quantile).select(*_KEY, quantile=quantile, **{column: "amount"}))
    if not told:
        told = [pl.DataFrame(schema=dict.fromkeys((*_KEY, "quantile"), pl.Float64))]
    wide = pl.concat(told, how="diagonal").with_columns(
        pl.lit(None, pl.Float64).alias(column)
        for column in _COLUMNS.values()
        if column not in pl.concat(told, how="diagonal")
    )
    rows = wide.group_by(*_KEY, "quantile").agg(pl.col(c).max() for c in _COLUMNS.values())
    rows = rows.with_columns(abstained=pl.all_horizontal(pl.col(c).is_null() for c in _COLUMNS.values()))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    rows.sort(*_KEY, "quantile").write_parquet(beside)
    os.replace(beside, path)
    return path
