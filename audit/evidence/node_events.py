"""Reader of node states over time: `sacctmgr show event -P`. Events of the whole cluster are no node's and left out."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from audit.evidence.interface import REJECT_SCHEMA, STATE_SCHEMA, Batch, Context, EvidenceError
from audit.evidence.sacct_fields import SHAPES
from audit.evidence.source import opened
from audit.evidence.times import moments

_MOST_LINES = 20  # of one reason
_ALIASES = {"timestart": "start", "timeend": "end", "nodename": "node", "clusternodes": "clusternodes"}


def is_header(line: str) -> bool:
    """Whether a first line is that of `sacctmgr show event -P`."""
    names = line.lower()
    return (
        "nodename" in names and ("timestart" in names or "start" in names) and "state" in names and "jobid" not in names
    )


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The spans in which nodes were not simply up; EvidenceError where a needed column is missing."""
    with opened(path) as stream:
        text = stream.read().decode("utf-8", "backslashreplace").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    mark = next((m for m in ("\x1f", "|", "\t", ";", ",") if m in lines[0]), "|")
    names = [_ALIASES.get(name.strip().lower(), name.strip().lower()) for name in lines[0].split(mark)]
    for needed in ("node", "start", "end", "state"):
        if needed not in names:
            raise EvidenceError(
                f"columns missing: {needed}",
                where=str(path),
                remedy="make it with: sacctmgr show event -P start=2026-05-01",
            )
    rows, rejects, foreign, other = [], [], 0, ""
    for number, record in _records(lines, names, mark):
        said = _fields(record.split(mark), names, mark)
        if said is None:
            rejects.append((number, "too few columns", record))
        elif said.get("cluster") and said["cluster"] != context.cluster:
            foreign, other = foreign + 1, said["cluster"]
        elif said["node"]:
            told = (said["node"], said["start"], said["end"], said["state"], said.get("reason") or None)
            rows.append((number, record, *told))
    schema = dict.fromkeys(("text", "node", "start", "end", "state", "reason"), pl.String)
    frame = pl.DataFrame(rows, schema={"line": pl.Int64, **schema}, orient="row")
    start, end = (moments(frame[name], context.timezone) for name in ("start", "end"))
    frame = frame.with_columns(
        cluster=pl.lit(context.cluster),
        from_time=start.early,
        to_time=end.late,
        state=pl.col("state").str.to_uppercase().str.replace_all(r"[^A-Z_+]", "").str.strip_chars("+"),
        wrong=start.wrong | end.wrong | start.early.is_null() | (end.late < start.early).fill_null(False),
    )
    bad = frame.filter("wrong").select(
        "line", pl.lit("its times are none, or end before they start").alias("reason"), "text"
    )
    lost = pl.concat([pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row"), bad])
    good = frame.filter(~pl.col("wrong")).select(pl.col(name).cast(kind) for name, kind in STATE_SCHEMA.items())
    yield Batch({"node_state_record": good, "reject_record": lost}, other_cluster=foreign, other_name=other)


def _records(lines: list[str], names: list[str], mark: str) -> Iterator[tuple[int, str]]:
    """The records after the header with their line numbers: a reason may hold line feeds.

    A line that is a record itself never goes on from one that is cut short.
    """
    held, first = "", 0
    for number, line in enumerate(lines[1:], 2):
        if not held and not line.strip():
            continue
        said = _fields(line.split(mark), names, mark)
        if held and said and SHAPES["start"].fullmatch(said["start"]) and said["start"]:
            yield first, held
            held = ""
        held, first = (f"{held}\n{line}", first) if held else (line, number)
        whole = held.count(mark) >= len(names) - 1
        if whole or held.count("\n") > _MOST_LINES:
            yield first, held
            held = ""
    if held:
        yield first, held


def _fields(tokens: list[str], names: list[str], mark: str) -> dict[str, str] | None:
    """The line's fields by name; what is left over is the reason's, the only free text."""
    extra = len(tokens) - len(names)
    if extra == 1 and tokens[-1] == "":
        tokens, extra = tokens[:-1], 0
    if extra > 0 and "reason" in names:
        at = names.index("reason")
        tokens = [*tokens[:at], mark.join(tokens[at : at + extra + 1]), *tokens[at + extra + 1 :]]
        extra = 0
    return dict(zip(names, (t.strip(" ") for t in tokens), strict=True)) if extra == 0 else None
