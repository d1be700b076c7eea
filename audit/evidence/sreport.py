"""`sreport -P -t Seconds cluster utilization`: what Slurm's own roll-up says of a span, to be held beside ours.

The banner's times are epochs where SLURM_TIME_FORMAT=%s was set (`audit.site.sreport_command` sets it), or carry an
offset; else they are local to the site's time zone. The end that it prints is the last second of the span. Several
reports in one file are read one after the other. Memory is in MiB-seconds, all else in seconds of one unit.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from audit.evidence.interface import REJECT_SCHEMA, UTILIZATION_SCHEMA, Batch, Context, EvidenceError
from audit.evidence.source import opened
from audit.evidence.times import moments

_BANNER = re.compile(r"Cluster Utilization\s+(\S+) - (\S+)")
_UNIT = re.compile(r"Usage reported in (?:TRES |CPU )?(.*)")
_COLUMNS = {
    "cluster": "cluster",
    "tres name": "tres",
    "allocated": "allocated_s",
    "down": "down_s",
    "plnd down": "planned_down_s",
    "idle": "idle_s",
    "planned": "reserved_s",  # of newer Slurm; Reserved before
    "reserved": "reserved_s",
    "reported": "reported_s",
}
_NUMBERS = tuple(name for name in UTILIZATION_SCHEMA if name.endswith("_s"))
_REMEDY = "make it with: sreport -P -t Seconds -T cpu,mem,gres/gpu cluster utilization start=… end=…"


def is_banner(text: str) -> bool:
    """Whether a file's beginning is that of a utilization report of sreport."""
    return any(line.startswith("Cluster Utilization ") for line in text.lstrip().split("\n", 4)[:4])


def read(path: Path, context: Context) -> Iterator[Batch]:
    """One row a TRES and span; EvidenceError where it is not in seconds or a needed column is missing."""
    with opened(path) as stream:
        text = stream.read().decode("utf-8", "backslashreplace").removeprefix("\ufeff").replace("\r\n", "\n")
    rows, rejects, other, foreign = [], [], "", 0
    span, names = ("", ""), list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if told := _BANNER.match(line):
            span, names = (told[1], told[2]), []
        elif unit := _UNIT.match(line):
            if not unit[1].strip().lower().startswith("second"):
                raise EvidenceError(f"is in {unit[1].strip()[:40]}, not seconds", where=str(path), remedy=_REMEDY)
        elif not names and "|" in line:
            names = _names(line, path)
        elif "|" in line:
            fields = line.split("|")
            said = dict(zip(names, fields, strict=False))
            if len(fields) not in (len(names), len(names) + 1) or not said["tres"]:
                rejects.append((number, "its columns are not those of the header", line))
            elif said["cluster"] != context.cluster:
                foreign, other = foreign + 1, said["cluster"]
            else:
                rows.append((number, line, *span, said["tres"].lower(), *(said.get(name) for name in _NUMBERS)))
    good, bad = _typed(rows, context)
    lost = pl.concat([pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row"), bad])
    yield Batch({"sreport_record": good, "reject_record": lost}, other_cluster=foreign, other_name=other)


def _names(line: str, path: Path) -> list[str]:
    names = [_COLUMNS.get(name.strip().lower(), "") for name in line.split("|")]
    missing = [name for name in ("cluster", "tres", "allocated_s", "down_s") if name not in names]
    if missing:
        raise EvidenceError(f"columns missing: {', '.join(missing)}", where=str(path), remedy=_REMEDY)
    return names


def _typed(rows: Sequence[tuple[object, ...]], context: Context) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows with times and numbers, and those that have none of these."""
    schema = {"line": pl.Int64, **dict.fromkeys(("text", "first", "last", "tres", *_NUMBERS), pl.String)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    first, last = (moments(frame[name], context.timezone) for name in ("first", "last"))
    numbers = [pl.col(name).cast(pl.Int64, strict=False) for name in _NUMBERS]
    frame = frame.with_columns(
        numbers,
        cluster=pl.lit(context.cluster),
        from_time=first.early,
        to_time=last.late + pl.duration(seconds=1),
        wrong=first.wrong | last.wrong | first.early.is_null() | (last.late <= first.early).fill_null(True),
    )
    wrong = pl.col("wrong") | pl.any_horizontal(
        pl.col("allocated_s", "down_s").is_null(), (pl.col(_NUMBERS) < 0).fill_null(False)
    )
    bad = frame.filter(wrong).select("line", pl.lit("its span or its seconds are none").alias("reason"), "text")
    good = frame.filter(~wrong)
    return good.select(pl.col(name).cast(kind) for name, kind in UTILIZATION_SCHEMA.items()), bad
