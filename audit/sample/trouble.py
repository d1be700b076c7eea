"""What makes a month hard to foresee: telemetry that is missing, needs that change, users who come late."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from audit.sample.arrivals import Arrivals
from audit.sample.population import Families


@dataclass(frozen=True)
class Trouble:
    """Each is off where it stands at its default."""

    unwatched: float = 0.0  # share of attempts of which no peak and no GPU was seen
    growth: float = 1.0  # what the memory need of every family is multiplied by at half time
    newcomers: float = 0.0  # share of users who submit nothing before half time


NONE = Trouble()


def troubled(families: Families, trouble: Trouble) -> Families:
    """The families, their needs growing at half time."""
    if trouble.growth == 1:
        return families
    count = len(families.kind)
    return replace(families, drift_at=np.full(count, 0.5), drift_by=np.full(count, trouble.growth))


def newcomers_late(arrivals: Arrivals, families: Families, trouble: Trouble, *, half: int) -> Arrivals:
    """The arrivals without those of newcomers before `half` (epoch). Every user of the last part by number is one."""
    users = int(families.user.max()) + 1
    is_new = (families.user * 7 % users) >= users * (1 - trouble.newcomers)
    stay = (arrivals.submit >= half) | ~is_new[arrivals.family]
    return Arrivals(*(getattr(arrivals, name)[stay] for name in ("family", "submit", "burst", "task")))


def unwatched(records: pl.DataFrame, trouble: Trouble) -> pl.DataFrame:
    """The records with `unwatched`; what was seen of these is NULL."""
    hit = pl.col("label") // 1000 % 1000 < trouble.unwatched * 1000
    marked = records.with_columns(unwatched=hit)
    return marked.with_columns(seen_kib=pl.when(~pl.col("unwatched")).then(pl.col("seen_kib")))
