"""Slurm's times to UTC: epochs, local times with or without offset, and the hour that comes twice."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

# 4294967294 and 4294967295 are Slurm's "no value" and "infinite" where JSON prints them as times.
_UNSET = ("", "Unknown", "None", "N/A", "NONE", "UNKNOWN", "0", "4294967294", "4294967295")
_UTC = ("UTC", "Etc/UTC", "GMT")


@dataclass(frozen=True)
class Moments:
    """A column of times in UTC. `late` differs where a local time stood twice on the clock; `wrong` marks what
    is no time, or never was on that clock."""

    early: pl.Series
    late: pl.Series
    wrong: pl.Series


def moments(text: pl.Series, timezone: str) -> Moments:
    """Reads epoch seconds, `2026-05-01T07:00:00` (local to `timezone`) and the same with `+0200` or `Z`."""
    text = pl.select(pl.when(~text.is_in(_UNSET)).then(text)).to_series()
    epoch = text.cast(pl.Int64, strict=False)
    if epoch.null_count() == text.null_count():
        time = _from_epoch(epoch)
        return Moments(time, time, text.is_not_null() & time.is_null())
    plain = text.str.replace(" ", "T", literal=True)
    offset = plain.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", strict=False, time_unit="us", time_zone="UTC")
    local = plain.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")
    known = pl.select(pl.coalesce(_from_epoch(epoch), offset.dt.replace_time_zone(None))).to_series()
    early, late = _localised(local, timezone, "earliest"), _localised(local, timezone, "latest")
    first = pl.select(pl.coalesce(known, early)).to_series()
    last = pl.select(pl.coalesce(known, late)).to_series()
    return Moments(first, last, text.is_not_null() & first.is_null())


def _from_epoch(epoch: pl.Series) -> pl.Series:
    ok = (epoch > 0) & (epoch < 32503680000)
    return pl.select(pl.from_epoch(pl.when(ok).then(epoch), time_unit="s").cast(pl.Datetime("us"))).to_series()


def _localised(local: pl.Series, timezone: str, which: Literal["earliest", "latest"]) -> pl.Series:
    if timezone in _UTC:
        return local
    frame = local.to_frame("t").select(
        pl.col("t")
        .dt.replace_time_zone(timezone, ambiguous=which, non_existent="null")
        .dt.convert_time_zone("UTC")
        .dt.replace_time_zone(None)
    )
    return frame["t"]


def settle(start: Moments, end: Moments, elapsed_s: pl.Series, suspended_s: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Start and end, where the clock showed either twice, as the elapsed time says; the earlier where it cannot."""
    frame = pl.DataFrame(
        {
            "s0": start.early,
            "s1": start.late,
            "e0": end.early,
            "e1": end.late,
            "elapsed": elapsed_s,
            "held": elapsed_s + suspended_s.fill_null(0),
        }
    )
    doubtful = frame.select((pl.col("s0") != pl.col("s1")) | (pl.col("e0") != pl.col("e1"))).to_series()
    if not doubtful.any():
        return start.early, end.early

    def fits(s: str, e: str) -> pl.Expr:
        took = (pl.col(e) - pl.col(s)).dt.total_seconds().cast(pl.Float64)
        return ((took - pl.col("held")).abs() <= 1) | ((took - pl.col("elapsed")).abs() <= 1)

    late_start = ~fits("s0", "e0") & (fits("s1", "e1") | fits("s1", "e0")) & ~fits("s0", "e1")
    late_end = ~fits("s0", "e0") & (fits("s0", "e1") | (fits("s1", "e1") & ~fits("s1", "e0")))
    # An end before its start can only be the later of the two.
    backwards = pl.col("e0") < pl.col("s0")
    chosen = frame.select(
        start=pl.when(late_start.fill_null(False)).then("s1").otherwise("s0"),
        end=pl.when((late_end | backwards).fill_null(False)).then("e1").otherwise("e0"),
    )
    return chosen["start"], chosen["end"]
