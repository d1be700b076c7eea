"""Batch logs in the Standard Workload Format: one line a job, 18 numbers or more, what is unknown is -1."""

import re

import numpy as np

from audit.sizing.attempts import Attempts, Floats, codes
from benchmarks.trace import Needed, Trace, UnusableError, ordered, positive

LEAST_FIELDS = 9  # up to the requested time
_MADE_UP = ("LCG grid",)  # installations whose requested times came from a model, not from users
_FIELDS = {
    "submit": 1, "wait": 2, "run": 3, "cores": 4, "asked_cores": 7, "asked": 8, "status": 10, "user": 11, "name": 13,
    "queue": 14, "partition": 15,
}  # fmt: skip
_PARTS = (2, 3, 4)  # statuses of parts of a job that has a line of its own
_LONG_AGO_S = 6e8  # submit times below it (1989) count from the log's start


def read_swf(name: str, text: str) -> Trace:
    """Walltime: the run time of each job against the time it asked for. UnusableError where no job has a run time."""
    import polars as pl

    lines = pl.Series(text.splitlines(), dtype=pl.String)
    comment = lines.str.starts_with(";")
    header = "\n".join(lines.filter(comment).to_list())
    fields = lines.filter(~comment & (lines.str.strip_chars() != "")).str.extract_all(r"\S+")
    whole = fields.filter(fields.list.len() >= LEAST_FIELDS)
    column: dict[str, Floats] = {
        key: whole.list.get(place, null_on_oob=True).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        for key, place in _FIELDS.items()
    }
    broken = ~np.isfinite(column["submit"]) | ~np.isfinite(column["run"])
    keep = ~broken & (column["run"] > 0) & ~np.isin(column["status"], _PARTS)
    if not keep.any():
        raise UnusableError(f"{name}: holds no job with a submit time and a run time")
    column = {key: values[keep] for key, values in column.items()}
    rows = {
        "malformed": len(fields) - len(whole) + int(broken.sum()),
        "without_run_time": int((~broken & ~keep).sum()),
    }
    notes = {}
    if any(text in header for text in _MADE_UP):
        column["asked"][:] = np.nan
        notes["requests"] = "not taken: a model made this log's requested times"
    return _trace(name, column, _starts_at(header, column["submit"]), rows, notes)


def _trace(name: str, column: dict[str, Floats], begin_s: float, rows: dict[str, int], notes: dict[str, str]) -> Trace:
    submit = column["submit"] + begin_s
    start = submit + np.maximum(np.nan_to_num(column["wait"]), 0.0)
    run, asked = column["run"], positive(column["asked"])
    cores = np.where(column["asked_cores"] > 0, column["asked_cores"], column["cores"])
    nothing = np.full(len(submit), np.nan)
    users, user = np.unique(column["user"], return_inverse=True)
    attempts = Attempts(
        submit_s=submit, start_s=start, end_s=start + run, run_s=run, user=user.astype(np.int64),
        name=codes(column["name"]), partition=codes(column["queue"], column["partition"]), cores=positive(cores),
        mem_bytes=nothing, gpus=nothing, limit_s=asked,
    )  # fmt: skip
    needed = {"walltime": Needed(need=run, is_bound=run >= asked, asked=asked)}
    names = tuple(f"{number:.0f}" for number in users.tolist())
    return Trace(name, "swf", ordered(attempts, needed), names, {"jobs": len(submit), **rows}, notes)


def _starts_at(header: str, submit: Floats) -> float:
    """When the log's clock began, in seconds since 1970, where submit times count from there."""
    found = re.search(r"^;\s*UnixStartTime:\s*(\d{1,12})\s*$", header, re.M)
    return float(found[1]) if found and np.median(submit) < _LONG_AGO_S else 0.0
