"""The check strip: the leading recoverable figure as a product that the reader can work out again, to the cent."""

from dataclasses import dataclass

from audit.reporting.numerals import cents
from audit.reporting.won import by_class, is_expected, lead_usd, signed
from audit.reporting.wording import Report, node_sizes_known

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
    usd = lead_usd(report)
    if not usd:
        return None
    rows = _products(report) if node_sizes_known(report) else _by_resource(report)
    rest = rows[limit:]
    month = report["recoverable"]["expected_usd_per_month" if is_expected(report) else "high_usd_per_month"]
    return Check(
        lines=tuple(line for line, _ in rows[:limit]),
        more=(len(rest), cents(sum(usd for _, usd in rest))) if rest else None,
        total=cents(usd),
        month=None if month is None else (_hours(report["window"]["observed_hours"], usd, month), cents(month)),
    )


def factors(hours: float, rate: float, usd: float) -> tuple[str, str]:
    """Hours and price with the fewest decimals whose product is `usd` to the cent; at most nine."""
    for decimals in range(2, _MOST_DECIMALS + 1):
        h, r = f"{hours:.{decimals}f}", f"{rate:.{decimals}f}"
        if _same(float(h) * float(r), usd):
            break
    return signed(f"{float(h):,.{decimals}f}"), _short(r)


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
    for row in by_class(report):
        usd, usd_per_hour = row.usd[1], row.rates[1]
        if usd and usd_per_hour and row.hours is not None:
            hours, rate = factors(row.hours, usd_per_hour, usd)
            found.append((Line(row.name, hours, rate, cents(usd)), usd))
    return found


def _by_resource(report: Report) -> list[tuple[Line, float]]:
    key = "expected_usd" if is_expected(report) else "usd"
    rows = [row for row in report["recoverable_by_resource"] if row[key]]
    return [(Line(row["resource"], None, None, cents(row[key])), row[key]) for row in rows]
