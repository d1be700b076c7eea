"""The files of `audit recommend`: recommend.csv with every family, and recommend.html, complete in itself."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from audit.reporting import recommend_words as words
from audit.reporting.definition import definition
from audit.reporting.dollars import dollars
from audit.reporting.exports import list_csv
from audit.reporting.page import created, environment, style_sheet
from audit.reporting.period import period
from audit.reporting.wording import node_sizes_known

TITLE: Final = "Requests to right-size"
CSV: Final = """
    advice account family user users partition partitions attempts recent_attempts last_submit nodes most_nodes
    mem_asked_bytes mem_recommended_bytes gpus_asked gpus_recommended cores_asked cores_recommended
    time_limit_asked_s walltime_p90_s held_usd expected_usd expected_usd_per_month reruns_usd
    gpus_gross_usd memory_gross_usd cores_gross_usd rests_on tested tested_days killed slowed above of_recent
    abstained abstained_share short out_of_memory lost_usd confidence confidence_reason tell
    is_new expected_usd_per_month_before expected_usd_per_month_change recommendation_changed adopted
""".split()


def files(found: Mapping[str, Any], limited: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, bytes]:
    """Both files by name: the CSV of all that was `found`, the page of what it was `limited` to.

    `found` is as it may be shown; of the `report` only what the site named is read.
    """
    table = list_csv(list(_lines(found)), CSV, is_generated=found["generated_sample"])
    return {"recommend.csv": table, "recommend.html": _page(limited, report).encode()}


def _lines(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A line a family and direction; what does not concern a direction, or is not known, stays empty."""
    for advice in ("lower", "raise"):
        for row in found[advice]:
            change = row.get("change") or {}
            flat = {key: " ".join(value) if isinstance(value, list) else value for key, value in change.items()}
            yield dict.fromkeys(CSV) | {"advice": advice} | {key: row[key] for key in CSV if key in row} | flat


def _page(found: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    what = definition()
    style, _ = style_sheet(what)
    template = environment(what).get_template("recommend.html.j2")
    return template.render(
        r=report,
        d=found,
        words=words,
        money=dollars(found, [row["expected_usd"] for row in found["lower"]]),
        lost=dollars(found, [row["lost_usd"] for row in found["raise"]]),
        title=TITLE,
        css=style,
        created=created(),
        period=period(report),
        by_node=node_sizes_known(report),
    )
