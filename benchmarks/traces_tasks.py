"""Tables of workflow tasks, one row each: peak memory against what was asked for, where it was.

Who submits is the user where the table says it, else the pipeline: under the identity of one run nothing would ever
come back. The name is the process, numbers in it left out.
"""

import csv
import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from audit.sizing.attempts import Attempts, Flags, Floats, Ints, codes
from benchmarks.trace import Needed, Trace, UnusableError, ordered, positive
from benchmarks.trace_columns import columns, durations, moments, sizes

if TYPE_CHECKING:
    import polars as pl

_DELIMITERS = ",\t;|"
_NOTHING = ["", "-", "nan", "NaN", "null", "NULL", "NA", "N/A", "None"]
_BEGIN_S = 1_577_836_800.0  # 2020-01-01: of invented times
_OUT_OF_MEMORY = "137"  # exit status: killed
_TOO_SLOW = 50.0  # a run time so many times what lies between start and end is in milliseconds


def read_tasks(name: str, text: str) -> Trace:
    """Memory of the tasks that ran. UnusableError where there is no peak of any."""
    table = _table(name, text)
    meaning = columns(table.columns)
    if "peak" not in meaning:
        raise UnusableError(f"{name}: no column of peak memory (peakRss, peak_mem_bytes, max_rss…) among its columns")
    get = {key: table[column] for key, (column, _) in meaning.items()}
    unit = {key: unit for key, (_, unit) in meaning.items()}
    peak = positive(sizes(get["peak"], unit["peak"]))
    failed, killed, cached = _endings(get, len(table))
    measured = (np.isfinite(peak) & ~failed) | killed
    if not (measured & ~cached).any():
        raise UnusableError(f"{name}: no task has a peak of memory above 0")
    who = next((key for key in ("user", "pipeline", "run") if key in get), None)
    run_s, submit, start, end, notes = _times(get, unit)
    nothing = np.full(len(table), np.nan)
    asked = positive(sizes(get["asked"], unit["asked"])) if "asked" in get else nothing
    need = np.where(killed, np.fmax(peak, asked), np.where(measured, peak, np.nan))
    family = get["name"].str.replace(r"\s*\(.*\)\s*$", "").str.replace_all(r"\d+", "#") if "name" in get else None
    users, user = np.unique(_names(get[who]) if who else np.array(["all"] * len(table)), return_inverse=True)
    attempts = Attempts(
        submit_s=submit, start_s=start, end_s=end, run_s=run_s, user=user.astype(np.int64),
        name=_codes(family, len(table)), partition=_codes(get.get("partition"), len(table)),
        cores=positive(sizes(get["cores"], "")) if "cores" in get else nothing, mem_bytes=asked, gpus=nothing,
        limit_s=positive(durations(get["limit"], unit["limit"], 1e-3)) if "limit" in get else nothing,
    )  # fmt: skip
    keep = np.flatnonzero(np.isfinite(submit) & np.isfinite(end) & ~cached)
    if not len(keep):
        raise UnusableError(f"{name}: no task has times, or a run time, that can be read")
    notes["user"] = f"{meaning[who][0]}" if who else "none told: all tasks are taken as one user's"
    rows = {"tasks": len(table), "kept": len(keep), "cached": int(cached.sum()), "out_of_memory": int(killed.sum()),
            "failed": int(failed.sum()), "without_peak": int((~np.isfinite(peak)).sum())}  # fmt: skip
    needed = {"memory": Needed(need[keep], (killed & np.isfinite(need))[keep], asked[keep])}
    return Trace(
        name, "tasks", ordered(attempts.take(keep), needed), tuple(str(u) for u in users.tolist()), rows, notes
    )


def _table(name: str, text: str) -> "pl.DataFrame":
    import polars as pl

    body = text.lstrip("\ufeff\n \t")
    first = body.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    try:
        header = next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error as error:
        raise UnusableError(f"{name}: its header cannot be read: {error}") from None
    if len({column.strip() for column in header}) < 2:
        raise UnusableError(f"{name}: is neither a log in the Standard Workload Format nor a table with a header")
    unique = [column.strip() or f"column {i}" for i, column in enumerate(header)]
    unique = [f"{column} {i}" if column in unique[:i] else column for i, column in enumerate(unique)]
    table = None
    for quote in ('"', None):  # a quote that is never closed is no quote
        try:
            table = pl.read_csv(
                io.BytesIO(body.encode()), separator=delimiter, quote_char=quote, has_header=False, skip_rows=1,
                schema=dict.fromkeys(unique, pl.String), truncate_ragged_lines=True, missing_columns="insert",
                extra_columns="ignore", null_values=_NOTHING,
            )  # fmt: skip
            break
        except pl.exceptions.PolarsError as error:
            why = str(error).splitlines()[0]
    if table is None:
        raise UnusableError(f"{name}: cannot be read as a table: {why}")
    if table.is_empty():
        raise UnusableError(f"{name}: holds no row")
    return table


def _endings(get: dict[str, "pl.Series"], count: int) -> tuple[Flags, Flags, Flags]:
    """Whom something else than memory cut short, who ran out of memory, and what was taken from an earlier run."""
    status = _names(get["status"].str.to_uppercase()) if "status" in get else np.full(count, "")
    code = _names(get["exit"].str.strip_chars().str.replace(r"\.0$", "")) if "exit" in get else np.full(count, "")
    killed = (code == _OUT_OF_MEMORY) | np.isin(status, ("OOM", "OUT_OF_MEMORY", "OOM_KILLED"))
    good = np.isin(status, ("", "COMPLETED", "SUCCEEDED", "SUCCESS", "OK", "DONE", "CACHED"))
    failed = ~killed & (~good | ((status == "") & ~np.isin(code, ("", "0"))))
    return failed, killed, status == "CACHED"


def _times(get: dict[str, "pl.Series"], unit: dict[str, str]) -> tuple[Floats, Floats, Floats, Floats, dict[str, str]]:
    """Run time, submission, start and end of each task, and what was made up of them."""
    notes: dict[str, str] = {}
    told = {key: moments(get[key]) for key in ("submit", "start", "end") if key in get}
    run_s = durations(get["run_time"], unit["run_time"]) if "run_time" in get else None
    if not told:
        if run_s is None:
            unknown = np.full(len(get["peak"]), np.nan)
            return unknown, unknown, unknown, unknown, notes
        notes["times"] = "made up: one task after another, in the order of the file, instance by instance"
        run_s = np.where(run_s > 0, run_s, 1.0)
        order = _by_instance(get, len(run_s))
        begin = np.empty(len(run_s))
        begin[order] = _BEGIN_S + np.concatenate([[0.0], np.cumsum(run_s[order])[:-1]])
        return run_s, begin, begin, begin + run_s, notes
    nothing = np.full(len(get["peak"]), np.nan)
    submit, start, end = (told.get(key, nothing) for key in ("submit", "start", "end"))
    if run_s is not None and not unit["run_time"]:
        run_s = run_s * _scale(run_s, np.where(np.isfinite(start), start, submit), end, get["run_time"])
    run_s = nothing if run_s is None else run_s
    submit = np.where(np.isfinite(submit), submit, np.where(np.isfinite(start), start, end - run_s))
    end = np.where(np.isfinite(end), end, np.where(np.isfinite(start), start, submit) + run_s)
    start = np.where(np.isfinite(start), start, np.where(run_s > 0, np.maximum(submit, end - run_s), submit))
    run_s = np.where(run_s > 0, run_s, np.maximum(end - start, 0.0))
    start = np.maximum(start, submit)
    return run_s, submit, start, np.maximum(end, start), notes


def _scale(run_s: Floats, start: Floats, end: Floats, text: "pl.Series") -> float:
    """Seconds in one of a bare number: milliseconds (as Nextflow writes them) where seconds would be far too long."""
    if not text.str.contains(r"^\s*\d+(\.\d*)?\s*$").fill_null(False).any():
        return 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = run_s / (end - start)
    ratio = ratio[np.isfinite(ratio) & (run_s > 0)]
    return 1e-3 if not len(ratio) or np.median(ratio) > _TOO_SLOW else 1.0


def _by_instance(get: dict[str, "pl.Series"], count: int) -> Ints:
    """The rows in the order of the file, those of one instance together."""
    if "run" not in get:
        return np.arange(count)
    _, first, of = np.unique(_names(get["run"]), return_index=True, return_inverse=True)
    return np.argsort(first[of], kind="stable").astype(np.int64)


def _names(column: "pl.Series") -> NDArray[np.str_]:
    return np.array(column.fill_null("").to_list(), dtype=np.str_)


def _codes(column: "pl.Series | None", count: int) -> Ints:
    return np.zeros(count, dtype=np.int64) if column is None else codes(_names(column))
