"""The check strip: the recoverable figure as a product that the reader can work out again, to the cent."""

from dataclasses import dataclass

from audit.reporting.numerals import cents
from audit.reporting.wording import Report, node_sizes_known, priced_name

_MOST_DECIMALS = 9


@dataclass(frozen=True)
class Line:
    """One product: node-hours x price = dollars; the first two are None where resources are priced one by one."""

    name: str
    hours: str | None
    rate: str | None
    usd: str


@dataclass(frozen=True)
class Check:
    """The lines shown, the rest as one sum, the total in the window, and how it becomes a month (None: it does not)."""

    lines: tuple[Line, ...]
    more: tuple[int, str] | None
    total: str
    month: tuple[str, str] | None


def check(report: Report, limit: int = 4) -> Check | None:
    """The strip with at most `limit` lines; None where there is no recoverable figure, or it is 0."""
    won = report["recoverable"]
    if not won["high_usd"]:
        return None
    rows = _products(report) if node_sizes_known(report) else _by_resource(report)
    rest = rows[limit:]
    month = won["high_usd_per_month"]
    return Check(
        lines=tuple(line for line, _ in rows[:limit]),
        more=(len(rest), cents(sum(usd for _, usd in rest))) if rest else None,
        total=cents(won["high_usd"]),
        month=None
        if month is None
        else (_hours(report["window"]["observed_hours"], won["high_usd"], month), cents(month)),
    )


def factors(hours: float, rate: float, usd: float) -> tuple[str, str]:
    """Hours and price with the fewest decimals whose product is `usd` to the cent; at most nine."""
    for decimals in range(2, _MOST_DECIMALS + 1):
        h, r = f"{hours:.{decimals}f}", f"{rate:.{decimals}f}"
        if _same(float(h) * float(r), usd):
            break
    return f"{float(h):,.{decimals}f}", _short(r)


def _hours(hours: float, usd: float, month_usd: float) -> str:
    """The window's hours with the fewest decimals by which the dollars become those of a month, to the cent."""
    for decimals in range(_MOST_DECIMALS + 1):
        if _same(usd * 730 / float(f"{hours:.{decimals}f}"), month_usd):
            break
    return f"{hours:,.{decimals}f}"


def _same(product: float, usd: float) -> bool:
    """Whether they agree to the cent, or to the ten digits that the figures have."""
    return cents(product) == cents(usd) or abs(product - usd) <= 1e-9 * abs(usd)


def _short(number: str) -> str:
    """A price without the zeros that end it, but with its cents."""
    whole, _, decimals = number.partition(".")
    return f"{int(whole):,}.{decimals.rstrip('0').ljust(2, '0')}"


def _products(report: Report) -> list[tuple[Line, float]]:
    found = []
    for row in report["recoverable"]["by_class"]:
        if row["recoverable_usd"]:
            hours, rate = factors(row["recoverable_hours"], row["usd_per_hour"], row["recoverable_usd"])
            line = Line(priced_name(row), hours, rate, cents(row["recoverable_usd"]))
            found.append((line, row["recoverable_usd"]))
    return found


def _by_resource(report: Report) -> list[tuple[Line, float]]:
    rows = [row for row in report["recoverable_by_resource"] if row["usd"]]
    return [(Line(row["resource"], None, None, cents(row["usd"])), row["usd"]) for row in rows]
