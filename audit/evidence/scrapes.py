"""What the readers of exporters' files share: whose a file is, what no measurement is, and rows as the store has them.

A scrape shows one instant: its rows have no interval_no and an interval of 0 until settling gives each the time up to
the card's next scrape, in whichever file that stands.
"""

import re

import polars as pl

from audit.evidence.interface import Batch, Context, EvidenceError
from audit.evidence.telemetry import COUNT, KINDS, MOST_COUNT, MOST_REAL, PERCENTS, REAL, SHARES

_NODE_IN_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*?)__")
MIB = 1 << 20


def node_of(context: Context, where: str) -> str:
    """The node a file is named after (`NODE__anything`); EvidenceError where it is named otherwise."""
    if found := _NODE_IN_NAME.match(context.name):
        return found[1]
    raise EvidenceError(
        "does not say which node it is of", where=where, remedy="name it NODE__….txt (or .xml), NODE as Slurm calls it"
    )


def uuid(text: pl.Expr) -> pl.Expr:
    """A card's UUID as the driver prints it; some exporters leave its prefix out."""
    return pl.when(text.str.contains(r"^[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}$")).then(pl.lit("GPU-") + text).otherwise(text)


def batch(cards: pl.DataFrame, instances: pl.DataFrame, context: Context) -> Batch:
    """Rows of cards and MIG instances, with `at_time`; columns they lack are NULL, as are numbers that cannot be."""
    return Batch({"sample_gpu": _table("gpu", cards, context), "sample_mig": _table("mig", instances, context)})


def _table(kind: str, found: pl.DataFrame, context: Context) -> pl.DataFrame:
    given = {
        "cluster": pl.lit(context.cluster),
        "from_time": pl.col("at_time"),
        "interval_s": pl.lit(0.0),
        "samples": pl.lit(1, pl.Int64),
    }
    return found.select(
        given.get(name, _sound(name, type_) if name in found.columns else pl.lit(None))
        .cast(type_, strict=False)
        .alias(name)
        for name, type_ in KINDS[kind].schema.items()
    )


def _sound(name: str, type_: pl.DataType) -> pl.Expr:
    if type_ not in (COUNT, REAL):
        return pl.col(name)
    most = 1.01 if name in SHARES else 101.0 if name in PERCENTS else MOST_COUNT if type_ == COUNT else MOST_REAL
    return pl.when(pl.col(name).is_between(-most, most)).then(name)
