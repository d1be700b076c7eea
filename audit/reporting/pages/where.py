"""Page two: where the dollars of the slice went, by bucket, by partition, and by hour of the week."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from audit.reporting.check import Check, check
from audit.reporting.dollars import dollars
from audit.reporting.fitting import fitted
from audit.reporting.headline import nothing_won, share_words
from audit.reporting.heat import week_map
from audit.reporting.stack import stack
from audit.reporting.tables import partitions
from audit.reporting.won import lead_words
from audit.reporting.wording import listed, node_sizes_known

PARTITIONS = 8  # rows of the table before the slice; the rest is summed up in the last of them
CHECK_ROOM = 120.0  # points, of a name in the check strip


def where(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows."""
    cost, table, strip = report["cost"], partitions(report, PARTITIONS), check(report)
    cells = [usd for row in table.rows for usd in row.usd.values()]
    return {
        "lede": lede(report),
        "stack": stack(report),
        "dollars": dollars(report, [cost["installed_usd"], cost["held_usd"], *cells]),
        "partitions": table,
        "words": lead_words(report),
        "check": None if strip is None else _fitted(strip),
        "map": week_map(report),
    }


def _fitted(strip: Check) -> Check:
    return replace(strip, lines=tuple(replace(line, name=fitted(line.name, CHECK_ROOM)) for line in strip.lines))


def lede(report: Mapping[str, Any]) -> str:
    """Where the dollars went, as shares of all of them; what is not known takes no part."""
    cost, high = report["cost"], report["recoverable"]["high_usd"]
    by_node = node_sizes_known(report)
    base, of = (cost["installed_usd"], "installed") if by_node else (cost["held_usd"], "held by jobs")
    if not base:
        return "Nothing here has a price that could be divided."
    blind = (cost["not_measured_usd"], "was held without a measure of its use")
    shares = [blind if high is None else (cost["used_usd"], "was used")]
    shares.append((cost["lost_usd"], "was lost to failed attempts"))
    shares += [(cost["idle_usd"], "stood idle"), (cost["down_usd"], "was down")] if by_node else []
    said = [f"{share_words(usd / base) if usd else 'nothing'} {words}" for usd, words in shares if usd is not None]
    first = f"Of {dollars(report).prose(base)} {of}, {listed(said)}."
    if high is None:
        return first
    if not report["coverage"]["headline_allowed"]:
        return f"{first} Too little was measured to say how much of the rest was needed."
    if not high:
        return f"{first} {nothing_won(report)}"
    expected = report["recoverable"]["expected_usd"]
    more = ""
    if expected is not None:
        would = f"win back {share_words(expected / base)}" if expected > 0 else "win back nothing"
        more = f"; advice given in advance is expected to {would}"
    return (
        f"{first} {'At most ' if high / base >= 0.005 else ''}{share_words(high / base)} was held and not needed{more}."
    )
