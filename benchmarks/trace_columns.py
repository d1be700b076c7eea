"""Finds the columns of a table of tasks under the names they go by; reads amounts, durations and times from text."""

import re
from typing import TYPE_CHECKING

import numpy as np

from audit.sizing.attempts import Floats

if TYPE_CHECKING:
    import polars as pl

# what a column means, and the names it goes by without case, signs and unit; the first that is there is taken
NAMES = {
    "user": ("user", "username", "owner"),
    "pipeline": ("pipeline", "workflow", "workflowname", "project", "projectname", "application"),
    "run": ("run", "runid", "runname", "session", "sessionid", "instance", "workflowid"),
    "name": ("process", "processname", "program", "rule", "tool", "taskname", "jobname", "name", "task"),
    "submit": ("submit", "submittime", "submitted", "submittedat", "submissiontime"),
    "start": ("start", "starttime", "started", "startedat", "begin"),
    "end": ("complete", "completed", "completedat", "completiontime", "end", "endtime", "ended", "finish", "finished"),
    "run_time": ("realtime", "runtime", "walltime", "elapsed", "duration"),
    "limit": ("time", "timelimit", "timelimitrequested", "requestedtime", "walltimelimit"),
    "peak": ("peakrss", "peakmem", "peakmemory", "maxrss", "maxmem", "maxmemory", "memorypeak", "rss", "memoryused"),
    "asked": ("memory", "requestedmemory", "memoryrequested", "reqmem", "memoryrequest", "memorylimit", "mem"),
    "cores": ("cpus", "cpu", "cores", "ncpus", "requestedcpus", "threads"),
    "status": ("status", "state"),
    "exit": ("exit", "exitcode", "exitstatus"),
    "partition": ("queue", "partition"),
}
_UNITS = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0,
    **{f"{letter}{rest}": 1024.0 ** (power + 1) for power, letter in enumerate("kmgtp") for rest in ("", "b", "ib")},
}  # fmt: skip
_SECONDS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0, "mins": 60.0,
    "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0,
    "days": 86400.0,
}  # fmt: skip
_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_MILLISECONDS_S = 1e11  # epoch times above it are in milliseconds


def columns(header: list[str]) -> dict[str, tuple[str, str]]:
    """The column of each meaning that is there, and the unit that its name carries ("" for none)."""
    plain: dict[str, tuple[str, str]] = {}
    for name in header:
        base, unit = _unit(name)
        plain.setdefault(base, (name, unit))
    found = {}
    for meaning, names in NAMES.items():
        here = next((plain[name] for name in names if name in plain), None)
        if here:
            found[meaning] = here
    return found


def _unit(name: str) -> tuple[str, str]:
    found = re.match(r"^(.*[^ _(\[])[ _(\[]+([a-z]+)[)\]]?$", name.strip().lower())
    if found and found[2] in _UNITS | _SECONDS:
        return re.sub(r"[^a-z0-9%]", "", found[1]), found[2]
    return re.sub(r"[^a-z0-9%]", "", name.lower()), ""


def sizes(text: "pl.Series", unit: str) -> Floats:
    """Bytes, of `1.2 GB` or of bare numbers in the column's unit; NaN for what is none."""
    import polars as pl

    number = text.str.extract(rf"^\s*{_NUMBER}").cast(pl.Float64, strict=False)
    own = text.str.extract(rf"^\s*{_NUMBER}\s*([A-Za-z]+)\s*$", 2).str.to_lowercase()
    alone = text.str.contains(rf"^\s*{_NUMBER}\s*$")
    factor = own.replace_strict(_UNITS, default=None, return_dtype=pl.Float64)
    factor = pl.select(pl.when(alone).then(_UNITS.get(unit, 1.0)).otherwise(factor)).to_series()
    return _floats(number * factor)


def durations(text: "pl.Series", unit: str, plain_s: float = 1.0) -> Floats:
    """Seconds, of `1h 2m 3.5s`, `1-02:03:04` or of bare numbers in the column's unit (none: `plain_s` each)."""
    import polars as pl

    clock = text.str.extract_groups(r"^\s*(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s*$")
    parts = [clock.struct.field(str(i)).cast(pl.Float64, strict=False) for i in (1, 2, 3, 4)]
    with_clock = (parts[0].fill_null(0) * 24 + parts[1].fill_null(0)) * 3600 + parts[2] * 60 + parts[3]
    bare = text.str.strip_chars().cast(pl.Float64, strict=False) * _SECONDS.get(unit, plain_s)
    written = text.str.contains(rf"^\s*(?:{_NUMBER}\s*[a-z]+\s*)+$")
    total = pl.repeat(0.0, len(text), eager=True)
    lower = text.str.to_lowercase()
    for name in ("ms", "s", "m", "h", "d"):
        words = "|".join(word for word, seconds in _SECONDS.items() if seconds == _SECONDS[name])
        found = lower.str.extract(rf"{_NUMBER}\s*(?:{words})(?:[^a-z]|$)").cast(pl.Float64, strict=False)
        total = total + found.fill_null(0.0) * _SECONDS[name]
    chosen = pl.select(pl.coalesce(bare, with_clock, pl.when(written).then(total))).to_series()
    return _floats(chosen)


def moments(text: "pl.Series") -> Floats:
    """Epoch seconds, of ISO times (UTC where they say nothing) or of epoch seconds or milliseconds."""
    import polars as pl

    number = text.str.strip_chars().cast(pl.Float64, strict=False)
    number = pl.select(pl.when(number > _MILLISECONDS_S).then(number / 1000).otherwise(number)).to_series()
    day = text.str.extract(r"^\s*(\d{4}-\d\d-\d\d)")
    clock = text.str.extract(r"^\s*\S{10}[T ](\d\d:\d\d(?::\d\d)?)")
    clock = pl.select(pl.when(clock.str.len_chars() == 5).then(clock + ":00").otherwise(clock)).to_series()
    fraction = text.str.extract(r":\d\d[.,](\d+)").fill_null("0")
    written = (day + " " + clock).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False).dt.epoch("us")
    zone = text.str.extract_groups(r"\d\s*([+-])(\d\d):?(\d\d)\s*$")
    sign, hours, minutes = (zone.struct.field(str(i)) for i in (1, 2, 3))
    offset = (hours.cast(pl.Float64, strict=False) * 60 + minutes.cast(pl.Float64, strict=False)) * 60
    away = pl.select(pl.when(sign == "-").then(-offset).otherwise(offset)).to_series()
    away = pl.select(pl.when(clock.is_not_null()).then(away.fill_null(0.0))).to_series()
    iso = written / 1e6 + ("0." + fraction).cast(pl.Float64, strict=False).fill_null(0.0) - away
    return _floats(pl.select(pl.coalesce(number, iso)).to_series())


def _floats(values: "pl.Series") -> Floats:
    found: Floats = values.fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isfinite(found), found, np.nan)
