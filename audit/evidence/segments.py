"""Reader of a collector's segments: gzip members of tab-separated lines, one member an interval, named by a header.

Members and lines that cannot be read are rejects that say what was lost; kinds and columns that are not known are
left out. Nothing of what a line says is trusted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from audit.evidence.interface import REJECT_SCHEMA, STATE_SCHEMA, Batch, Context, EvidenceError
from audit.evidence.members import first_text, members
from audit.evidence.telemetry import KINDS
from audit.evidence.telemetry_rows import Block, rows

_CHUNK_BYTES = 4 << 20
_FORMAT = 1
_MOST_COLUMNS = 256  # of one kind


@dataclass(frozen=True)
class Header:
    """What a segment says of itself: where it was written, and the columns of each kind in their order."""

    node: str
    cluster: str
    role: str
    boot_id: str | None
    columns: dict[str, list[str]]


@dataclass
class _State:
    """How far the reading is: lines and intervals counted over the whole file, and node states not yet spans."""

    header: Header | None = None
    lines: int = 0
    intervals: int = 0
    pending: list[bytes] = field(default_factory=list)
    states: list[pl.DataFrame] = field(default_factory=list)
    last: pl.DataFrame | None = None


ENDING = ".seg.gz"  # of the names that collectors give


def is_segment(path: Path) -> bool:
    """Whether the file begins as a segment does."""
    return first_text(path, 64).startswith(b'#{"')


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The rows of one segment; EvidenceError where its header cannot be read, since nothing tells what the rest is."""
    state = _State()
    for member in members(path):
        if member.fault:
            yield from _flush(state, context)
            text = f"{member.lost_bytes} bytes hold no whole interval"
            yield Batch({"reject_record": _reject(state.lines + 1, member.fault, text)})
        elif member.text.startswith(b"#"):
            yield from _flush(state, context)
            line, _, rest = member.text.partition(b"\n")
            state.header = _header(line, path)
            state.lines += 1
            state.pending.append(rest)
        elif state.header is None:
            raise EvidenceError("has lost its header", where=str(path), remedy="fetch the segment again")
        else:
            state.pending.append(member.text)
        if sum(map(len, state.pending[-512:])) > _CHUNK_BYTES or len(state.pending) >= 512:
            yield from _flush(state, context)
    if state.header is None:
        raise EvidenceError("has lost its header", where=str(path), remedy="fetch the segment again")
    yield from _flush(state, context)
    yield from _node_states(state)


def _reject(line: int, reason: str, text: str) -> pl.DataFrame:
    return pl.DataFrame([(line, reason, text)], schema=REJECT_SCHEMA, orient="row")


def _header(line: bytes, path: Path) -> Header:
    try:
        said = json.loads(line[1:])
        node, cluster, role, columns = said["node"], said["cluster"], said.get("role", "node"), said["columns"]
        boot_id, form = said.get("boot_id"), said["format"]
        sound = (
            all(isinstance(text, str) and 0 < len(text) < 256 and text.isprintable() for text in (node, cluster, role))
            and isinstance(boot_id, str | None)
            and all(name.isascii() and name.isprintable() for names in columns.values() for name in names)
            and all(len(names) <= _MOST_COLUMNS for names in columns.values())
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound, form = False, _FORMAT
    if not sound:
        raise EvidenceError("has a header that cannot be read", where=str(path), remedy="fetch the segment again")
    if form != _FORMAT:
        raise EvidenceError(f"is of format {form!r:.40}", where=str(path), remedy="read it with the audit that made it")
    return Header(node, cluster, role, boot_id, {kind: list(names) for kind, names in columns.items()})


def _flush(state: _State, context: Context) -> Iterator[Batch]:
    """The rows of what was gathered, by table; those of another cluster only counted."""
    text, state.pending = b"".join(state.pending), []
    if not text or state.header is None:
        return
    if not text.endswith(b"\n"):
        text += b"\n"
    header = state.header
    block = Block.of(text)
    first_line, first_interval = state.lines + 1, state.intervals
    state.lines += block.ends.size
    state.intervals += block.intervals
    if header.cluster != context.cluster:
        yield Batch(other_cluster=int(block.ends.size), other_name=header.cluster)
        return
    found: dict[str, pl.DataFrame] = {}
    rejects = []
    for kind, names in header.columns.items():
        spec = KINDS.get(kind)
        lines = np.flatnonzero(block.is_kind(kind)) if spec else np.empty(0, np.int64)
        if spec is None or not lines.size:
            continue
        if lacking := {*spec.times, *spec.needed} - {*names}:
            reason = f"{kind}: {min(lacking)} is in no column"
            rejects.append(_reject(int(lines[0]) + first_line, reason, f"{lines.size} lines"))
            continue
        taken, refused = rows(block, spec, kind, names, lines)
        place = {"cluster": pl.lit(header.cluster), "interval_no": pl.col("interval_no") + first_interval}
        if "node" not in names:
            place["node"] = pl.lit(header.node)
        if kind == "interval":
            place |= {"boot_id": pl.lit(header.boot_id, pl.String), "role": pl.lit(header.role)}
        taken = taken.with_columns(**place)
        rejects.append(refused.with_columns(line=pl.col("line") + first_line))
        if kind == "state":
            state.states.append(taken)
        else:
            found[spec.table] = taken
    if (intervals := found.get("sample_interval")) is not None and intervals.height:
        state.last = intervals.select(pl.col("from_time") + pl.duration(microseconds=pl.col("interval_s") * 1e6)).max()
    if rejects:
        found["reject_record"] = pl.concat(rejects)
    yield Batch(found)


def _node_states(state: _State) -> Iterator[Batch]:
    """Node states as spans: each until the node's next, the last until the segment's end; the next one lists all."""
    if not state.states:
        return
    end = state.last.item() if state.last is not None else None
    spans = (
        pl.concat(state.states)
        .sort("node", "at_time", maintain_order=True)
        .with_columns(
            from_time=pl.col("at_time"),
            to_time=pl.col("at_time").shift(-1).over("node").fill_null(pl.lit(end, pl.Datetime("us"))),
            state=pl.col("state").str.to_uppercase().str.replace_all(r"[^A-Z_+]", "").str.strip_chars("+"),
        )
        .with_columns(to_time=pl.max_horizontal("from_time", "to_time"))
    )
    yield Batch({"node_state_record": spans.select(pl.col(name).cast(kind) for name, kind in STATE_SCHEMA.items())})
