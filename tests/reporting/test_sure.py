"""The page on how sure the figure is: prices, days and coverage, and nothing that was not measured as a number."""

import dataclasses
import re
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.definition import definition
from audit.reporting.page import Page, render_page
from audit.reporting.pages.sure import CLASS_ROWS, REASON_ROWS, sure
from audit.reporting.pdf import render_pdf

Report = dict[str, Any]


def node_class(name: str, hours: float, low: float | None, price: float, high: float | None) -> tuple[Report, Report]:
    """A class of 4 nodes with so many recoverable node-hours, and its price."""
    ends = [hours * (price if end is None else end) for end in (low, price, high)]
    won = dict(zip(("low_recoverable_usd", "recoverable_usd", "high_recoverable_usd"), ends, strict=True))
    row = {"node_class": name, "usd_per_hour": price, "nodes": 4, "recoverable_hours": hours, **won}
    rates = {"usd_per_hour": price, "low_usd_per_hour": low, "high_usd_per_hour": high}
    return row, {"node_class": name, "nodes": 4, "providers": 3, "source": "a book", **rates}


def measured(resource: str, attempts: int, share: float | None, why: dict[str, int]) -> Report:
    of = attempts + sum(why.values())
    return {
        "resource": resource,
        "attempts": attempts,
        "of_attempts": of,
        "held_hours_share": share,
        "not_measured": why,
    }


def known(report: Report) -> Report:
    """100 node-hours at 10 dollars (2 to 25) and 50 at 4 (no range) could be won back; a month is two windows."""
    report["window"]["month_factor"] = 2.0
    rows, prices = zip(node_class("big", 100, 2, 10, 25), node_class("own", 50, None, 4, None), strict=True)
    report["prices"] = list(prices)
    report["recoverable"].update(
        by_class=list(rows),
        high_usd=1200.0,
        contended_usd=300.0,
        sampling={"days": 14, "resamples": 2000, "low_usd": 1100.0, "high_usd": 1400.0},
    )
    report["coverage"].update(usd=0.9, jobs=0.5, floor=0.8, headline_allowed=True)
    report["measured"] = [
        measured("cores", 80, 0.75, {"too short to be sampled": 15, "still running": 5}),
        measured("gpus", 0, None, {}),
        measured("memory", 90, 0.5, {"no step has a peak": 10}),
    ]
    report["node_coverage"] = {
        "nodes": 8,
        "from_share": [0.0, 0.5, 0.8, 0.95],
        "nodes_by_share": [1, 0, 2, 5],
        "least_measured": [{"node": "n1", "held_usd": 100.0, "measured_usd": 25.0, "share": 0.25}],
    }
    report["families"] = [{**report["families"][0], "asks_too_little": number} for number in (3, 4)]
    return report


def page_of(report: Report) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=("sure",)))


def text_of(report: Report, paper: str = "a4") -> list[str]:
    pages = PdfReader(BytesIO(render_pdf(page_of(report), paper))).pages
    return [" ".join(page.extract_text().split()) for page in pages]


def test_the_figure_at_the_lowest_and_the_highest_price(report: Report) -> None:
    shown = sure(known(report))
    big, own = shown["prices"]
    # 100 h x 2, 10 and 25 dollars, twice for a month; 50 h x 4 dollars whatever happens.
    assert (big.rates, big.usd) == ((2, 10, 25), (400, 2000, 5000))
    assert (own.rates, own.usd) == ((None, 4, None), (400, 400, 400))
    assert (shown["all_prices"].nodes, shown["all_prices"].usd) == (8, (800, 2400, 5400))


def test_what_would_move_the_figure_is_drawn_on_one_scale_from_zero(report: Report) -> None:
    moves = sure(known(report))["moves"]
    prices, days, contended = moves.marks
    unit = (moves.figure - moves.left) / 2400
    assert [(mark.low, mark.high) for mark in moves.marks] == [(800, 5400), (2200, 2800), (0, 600)]
    for mark in (prices, days, contended):
        assert mark.ends == pytest.approx((moves.left + unit * mark.low, moves.left + unit * mark.high))
    assert moves.ticks[0] == (moves.left, "0")
    assert "2,400" in moves.alt and "800 to 5,400" in moves.alt


def advised(report: Report) -> Report:
    """The same with 700 expected: 900 gross, 300 low; 70 of the big nodes' hours, and none of the other's."""
    big, own = known(report)["recoverable"]["by_class"]
    report["recoverable"].update(
        expected_usd=700.0,
        expected_gross_usd=900.0,
        low_usd=300.0,
        expected_contended_usd=450.0,
        expected_sampling={"days": 14, "resamples": 2000, "low_usd": -50.0, "high_usd": 900.0},
    )
    big.update(expected_hours=72.0, expected_usd=720.0)
    own.update(expected_hours=-5.0, expected_usd=-20.0)
    return report


def test_with_a_model_all_is_of_what_is_expected(report: Report) -> None:
    shown = sure(advised(report))
    big, own = shown["prices"]
    # 72 h x 2, 10 and 25 dollars, twice for a month; -5 h x 4
    assert (big.usd, own.usd) == ((288, 1440, 3600), (-40, -40, -40))
    assert shown["all_prices"].usd == (248, 1400, 3560)
    marks = {mark.label.split(",")[0]: mark for mark in shown["moves"].marks}
    assert [(mark.low, mark.high) for mark in marks.values()] == [(600, 2400), (248, 3560), (-100, 1800), (0, 900)]
    assert marks["Sampling error"].ends[0] == shown["moves"].left  # what is below zero is drawn from there
    assert shown["moves"].usd == 1400 and "$1,400 a month" in shown["lede"]
    assert "$248 and $3,560" in shown["lede"]
    assert page_of(report).html.count("recoverable, expected") == 2


def test_without_low_the_range_begins_at_the_figure(report: Report) -> None:
    advised(report)["recoverable"]["low_usd"] = None
    reach = sure(report)["moves"].marks[0]
    assert (reach.low, reach.high) == (1400, 2400)


def test_a_loss_is_not_drawn(report: Report) -> None:
    advised(report)["recoverable"]["expected_usd"] = -700.0
    shown = sure(report)
    assert shown["moves"] is None and "−$1,400" in shown["lede"]


def test_the_sentence_gives_the_coverage_and_both_ranges(report: Report) -> None:
    lede = sure(known(report))["lede"]
    for figure in ("90.0%", "$2,400 a month", "$2,200 and $2,800", "$800 and $5,400"):
        assert figure in lede


def test_coverage_by_resource_has_bars_in_proportion(report: Report) -> None:
    shown = sure(known(report))
    rows = {row.label.split(",")[0]: row for row in shown["covered"]}
    assert {name: row.share for name, row in rows.items()} == {
        "Held dollars": 0.9,
        "Memory": 0.5,
        "CPU cores": 0.75,
        "GPUs": None,
        "Jobs": 0.5,
    }
    assert rows["CPU cores"].length == pytest.approx(0.75 * shown["measured_width"])
    assert shown["floor"] - shown["left"] == pytest.approx(0.8 * shown["measured_width"])
    assert (rows["CPU cores"].detail, rows["GPUs"].detail) == ("80 of 100 attempts", "none held")


def test_reasons_come_by_number_of_attempts_and_the_rest_is_summed(report: Report) -> None:
    assert sure(known(report))["reasons"] == [
        ("CPU cores", "too short to be sampled", 15),
        ("Memory", "no step has a peak", 10),
        ("CPU cores", "still running", 5),
    ]
    report["measured"] = [measured("memory", 1, 0.1, {f"reason {n}": n for n in range(1, 10)})]
    rows = sure(report)["reasons"]
    # 9, 8, 7, 6, 5 stand alone; 4 + 3 + 2 + 1 are the others.
    assert (len(rows), rows[0][2], rows[-1][2]) == (REASON_ROWS, 9, 10)


def test_nodes_by_share_measured(report: Report) -> None:
    nodes = sure(known(report))["nodes"]
    assert [(label, number) for label, number, _ in nodes.bars] == [
        ("under 50%", 1),
        ("50% to 80%", 0),
        ("80% to 95%", 2),
        ("95% or more", 5),
    ]
    lengths = [bar.length for _, _, bar in nodes.bars]
    assert lengths[1] == 0 and lengths[3] == pytest.approx(5 * lengths[0])
    assert "n1 (25.0% measured)" in " ".join(page_of(report).html.split())


def test_attempts_that_ask_too_little_are_of_those_whose_peak_is_known(
    report: Report, unmeasured_report: Report
) -> None:
    assert sure(known(report))["asks_too_little"] == (7, 90)
    assert sure(unmeasured_report)["asks_too_little"] is None


def test_classes_beyond_the_limit_are_summed(report: Report) -> None:
    rows, prices = zip(*(node_class(f"c{n}", n, 1, 2, 3) for n in range(9, 0, -1)), strict=True)
    known(report)["recoverable"]["by_class"] = list(rows)
    report["prices"] = list(prices)
    shown = sure(report)["prices"]
    # c9, c8, c7, c6 alone; 5 + 4 + 3 + 2 + 1 = 15 h at 1, 2 and 3 dollars, twice.
    assert (len(shown), shown[-1].name, shown[-1].members, shown[-1].nodes) == (CLASS_ROWS, None, 5, 20)
    assert shown[-1].usd == (30, 60, 90)


def test_where_node_sizes_are_unknown_the_figure_scales_by_resource(report: Report) -> None:
    known(report)["cost"]["mode"] = "unbundled"
    report["recoverable"]["by_class"] = []
    report["recoverable_by_resource"] = [{"resource": "memory", "usd": 40.0}, {"resource": "gpus", "usd": 60.0}]
    report["families"][0]["cores_need_p50"] = 2.0

    def price(name: str, low: float | None, usd: float, high: float | None) -> Report:
        rates = {"low_usd_per_hour": low, "usd_per_hour": usd, "high_usd_per_hour": high}
        return {"resource": name, "nodes": None, "providers": 3, "source": "a book", **rates}

    report["prices"] = [price("core", 1, 2, 4), price("mem_gib", 0.5, 1, 3), price("H100", None, 5, None)]
    assert [row.usd for row in sure(report)["prices"]] == [(0, 0, 0), (40, 80, 240), (120, 120, 120)]
    assert sure(report)["all_prices"].usd == (160, 200, 360)
    report["prices"].append(price("A100", 2, 3, 4))  # two cards: which of them the dollars are of is not known
    assert [row.usd for row in sure(report)["prices"]][2:] == [(None, None, None)] * 2
    assert sure(report)["all_prices"].usd == (None, None, None)
    assert "no basis" in page_of(report).html


def test_a_resource_whose_need_nobody_measured_wins_back_no_0(report: Report) -> None:
    known(report)["cost"]["mode"] = "unbundled"
    report["recoverable"].update(by_class=[], high_usd=40.0)
    report["recoverable_by_resource"] = [{"resource": "memory", "usd": 40.0}]
    for row in report["families"]:
        row["cores_need_p50"] = None
    rates = {"low_usd_per_hour": 1.0, "usd_per_hour": 2.0, "high_usd_per_hour": 4.0}
    report["prices"] = [
        {"resource": name, "nodes": None, "providers": 3, "source": "a book", **rates} for name in ("core", "mem_gib")
    ]
    cores, memory = sure(report)["prices"]
    assert (cores.usd, cores.is_measured) == ((None, None, None), False)
    # 40 dollars of memory at 1, 2 and 4 dollars an hour, twice for a month; cores add nothing to their sum
    assert memory.usd == sure(report)["all_prices"].usd == (40, 80, 160)
    row = re.search(r">Core</th>.*?</tr>", page_of(report).html, re.DOTALL)
    assert row is not None and row[0].count(">not measured<") == 3


def test_without_a_headline_no_figure_is_drawn(report: Report) -> None:
    known(report)["coverage"].update(usd=0.41, headline_allowed=False, reason="too little")
    shown = sure(report)
    assert shown["moves"] is None and not shown["headline"]
    assert "41.0%" in shown["lede"] and "$" not in shown["lede"]
    assert "measured part only" in page_of(report).html


def test_what_is_not_known_is_no_number(report: Report) -> None:
    known(report)["recoverable"].update(sampling=None, contended_usd=None)
    _, days, contended = sure(report)["moves"].marks
    assert (days.ends, days.high, days.is_unmeasured) == (None, None, False)
    assert (contended.ends, contended.high, contended.is_unmeasured) == (None, None, True)
    assert "2,200" not in page_of(report).html


def test_nothing_measured_is_hatched_and_has_no_price_table(unmeasured_report: Report) -> None:
    shown = sure(unmeasured_report)
    assert (shown["moves"], shown["prices"]) == (None, [])
    assert {row.length for row in shown["covered"]} == {0.0}
    html = page_of(unmeasured_report).html
    assert re.search(r'fill="url\(#hatch-', html) and "0.0%" not in html
    assert '<span class="unmeasured">not measured</span>' in html


def test_nothing_to_win_back(report: Report) -> None:
    known(report)["recoverable"].update(high_usd=0.0, contended_usd=0.0, sampling=None)
    for row in report["recoverable"]["by_class"]:
        row.update(low_recoverable_usd=0.0, recoverable_usd=0.0, high_recoverable_usd=0.0)
    shown = sure(report)
    assert shown["moves"] is None
    assert shown["all_prices"].usd == (0, 0, 0)


def test_gaps_rejects_and_records_of_others(report: Report) -> None:
    known(report)["rejects"] = {
        "rows": 9,
        "by_reason": [{"reason": "torn", "rows": 6}, {"reason": "x", "rows": 2}, {"reason": "y", "rows": 1}],
    }
    report["data_gaps"] = [
        {"from": f"2026-05-{day:02}T00:00:00Z", "to": f"2026-05-{day + 1:02}T00:00:00Z"} for day in (3, 7, 9)
    ]
    report["evidence"][0]["other_cluster"] = 12
    page = text_of(report)[0]
    for words in ("could not be read 6: torn 3 for 2 other reasons 9", "and 2 more 3", "another cluster, left out 12"):
        assert words in page


def test_hostile_names_stay_text(hostile_report: Report) -> None:
    html = page_of(hostile_report).html
    assert "<script" not in html and "<img" not in html
    assert "n" * 60 not in html


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("report", "a4"),
        ("report", "letter"),
        ("cpu_report", "letter"),
        ("unmeasured_report", "letter"),
        ("unbundled_report", "letter"),
        ("short_report", "letter"),
        ("hostile_report", "letter"),
        ("advised_report", "letter"),
    ],
)
def test_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    assert len(text_of(request.getfixturevalue(name), paper)) == 1


def test_one_page_with_all_there_can_be(report: Report) -> None:
    wide = "W" * 72
    rows, prices = zip(*(node_class(f"{wide}{n}", 1e9, 1, 200, 3000) for n in range(40)), strict=True)
    known(report)["prices"] = list(prices)
    report["recoverable"].update(by_class=list(rows), high_usd=8e12, contended_usd=5e12)
    report["recoverable"]["sampling"].update(low_usd=7e12, high_usd=9e12)
    long = "no step has a peak: too short to be sampled, or not gathered"
    report["measured"] = [
        measured(name, 10**7, 0.9, {f"{long} {n}": 10**6 for n in range(9)}) for name in ("memory", "cores", "gpus")
    ]
    report["rejects"] = {"rows": 99, "by_reason": [{"reason": wide, "rows": 33} for _ in range(3)]}
    report["data_gaps"] = [{"from": "2026-05-03T00:00:00Z", "to": "2026-05-04T00:00:00Z"}] * 3
    report["evidence"][0]["other_cluster"] = 12
    report["node_coverage"]["least_measured"] = [{"node": wide, "share": 0.5}] * 5
    assert len(text_of(report, "letter")) == 1
