"""A rate: US dollars an hour with its range, source and basis; what rates come to together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Basis = Literal["list", "contract", "owned"]


@dataclass(frozen=True)
class Rate:
    """US dollars an hour. `source` says how it was reckoned and from what, so that it can be checked.

    Low and high are the range over the providers named; None, and no names, where the site states the price.
    `as_of` is the day its book is of; None where the book does not say (a catalogue is told by its commit).
    """

    usd_per_hour: float
    low_usd_per_hour: float | None
    high_usd_per_hour: float | None
    source: str
    basis: Basis
    provider_names: tuple[str, ...] = ()
    as_of: str | None = None

    @property
    def providers(self) -> int:
        """How many providers the price is the median of; 0 where the site states it."""
        return len(self.provider_names)

    def times(self, factor: float) -> "Rate":
        """The rate of so many of the same."""
        low, high = self.low_usd_per_hour, self.high_usd_per_hour
        return replace(
            self,
            usd_per_hour=self.usd_per_hour * factor,
            low_usd_per_hour=None if low is None else low * factor,
            high_usd_per_hour=None if high is None else high * factor,
        )


def total(rates: Sequence[Rate]) -> Rate:
    """What several cost together; a part without a range counts as it stands.

    The basis is "list" where they differ; the day is the earliest, None where one does not say.
    """
    if len(rates) == 1:
        return rates[0]
    days = [r.as_of for r in rates]
    ranged = any(r.low_usd_per_hour is not None for r in rates)
    lows, highs = ([_or_plain(v, r) for r, v in zip(rates, ends, strict=True)] for ends in _ends(rates))
    return Rate(
        sum(r.usd_per_hour for r in rates),
        sum(lows) if ranged else None,
        sum(highs) if ranged else None,
        "; ".join(dict.fromkeys(r.source for r in rates)),
        rates[0].basis if len({r.basis for r in rates}) == 1 else "list",
        tuple(sorted({name for r in rates for name in r.provider_names})),
        min(d for d in days if d) if all(days) else None,
    )


def _ends(rates: Sequence[Rate]) -> tuple[list[float | None], list[float | None]]:
    return [r.low_usd_per_hour for r in rates], [r.high_usd_per_hour for r in rates]


def _or_plain(value: float | None, rate: Rate) -> float:
    return rate.usd_per_hour if value is None else value
