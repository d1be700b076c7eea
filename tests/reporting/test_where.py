"""Page two: the bar adds up, the table sums what it cuts, the strip can be worked out again, the week has no false 0."""

import copy
import re
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from audit.reporting.check import check, factors
from audit.reporting.definition import definition
from audit.reporting.heat import week_map
from audit.reporting.numerals import cents
from audit.reporting.page import Page, render_page
from audit.reporting.pages import PAGES
from audit.reporting.pages.where import PARTITIONS, lede
from audit.reporting.pdf import render_pdf
from audit.reporting.stack import WIDTH, apart, stack
from audit.reporting.tables import partitions

Report = dict[str, Any]
REPORTS = (
    *("report", "cpu_report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report"),
    "advised_report",
)


def page(report: Report) -> Page:
    return render_page(report, replace(definition(), pages=("where",)))


def pages_of(report: Report, paper: str) -> list[str]:
    return [leaf.extract_text() for leaf in PdfReader(BytesIO(render_pdf(page(report), paper))).pages]


def row_of(html: str, name: str) -> list[str]:
    """The cells of the table row headed `name`, as a reader sees them."""
    for row in re.findall(r"<tr.*?</tr>", html, re.DOTALL):
        cells = [re.sub("<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        if cells[0] == name:
            return cells[1:]
    raise AssertionError(f"no row {name}")


def test_with_a_model_the_bar_parts_what_is_expected_from_the_rest_of_the_ceiling(advised_round_report: Report) -> None:
    bar = stack(advised_round_report)
    assert bar is not None
    won = [(part.kind, part.name, part.usd) for part in bar.segments if part.kind in ("recoverable", "ceiling")]
    assert won == [("recoverable", "Expected", 50), ("ceiling", "Up to the ceiling", 30)]
    assert sum(part.usd for part in bar.segments) == 1000
    assert "recoverable at most 24.0%" in bar.brackets[1].words  # 160 lost, 80 at most
    advised_round_report["recoverable"]["expected_usd"] = -5.0  # nothing of a loss is in what was held
    (only,) = [p for p in stack(advised_round_report).segments if p.kind in ("recoverable", "ceiling")]  # type: ignore[union-attr]
    assert (only.kind, only.usd) == ("ceiling", 80)


def test_with_a_model_the_strip_is_of_what_is_expected(advised_round_report: Report) -> None:
    strip = check(advised_round_report)
    assert strip is not None
    # 5 node-hours, reruns taken off, at 10 dollars; twice a month
    assert [(line.hours, line.rate, line.usd) for line in strip.lines] == [("5.00", "10.00", "50.00")]
    assert (strip.total, strip.month) == ("50.00", ("365", "100.00"))
    html = page(advised_round_report).html
    assert "At most 8%" in lede(advised_round_report) and "win back 5%" in lede(advised_round_report)
    assert row_of(html, "Slice")[6] == "160"  # the table of partitions has the ceiling, and says so
    assert '<span class="sub">at most</span>' in html


def test_a_class_that_loses_is_negative_in_the_strip(advised_round_report: Report) -> None:
    won = advised_round_report["recoverable"]
    won.update(expected_usd=-25.0, expected_usd_per_month=-50.0)
    won["by_class"][0].update(expected_hours=-2.5, expected_usd=-25.0)
    strip = check(advised_round_report)
    assert strip is not None and (strip.lines[0].hours, strip.lines[0].usd) == ("−2.50", "−25.00")


def test_the_bar_holds_every_dollar_in_a_fixed_order(round_report: Report) -> None:
    bar = stack(round_report)
    assert bar is not None
    assert [(part.kind, part.usd) for part in bar.segments] == [
        ("used", 400),
        ("kept", 100),
        ("unmeasured", 60),
        ("lost", 160),
        ("recoverable", 80),
        ("idle", 160),
        ("down", 40),
    ]
    # 1,000 dollars over the width of the text, a hair of white after each part
    assert [part.x for part in bar.segments] == pytest.approx(
        [WIDTH * usd / 1000 for usd in (0, 400, 500, 560, 720, 800, 960)]
    )
    assert bar.segments[0].value == "$800 · 40.0%"  # a month is two windows
    assert [bracket.words.rsplit(" ", 1)[1] for bracket in bar.brackets] == ["56.0%", "24.0%", "20.0%"]


def test_narrow_parts_have_their_label_below_and_no_two_touch(round_report: Report) -> None:
    bar = stack(round_report)
    assert bar is not None
    assert {part.kind for part in bar.segments if part.inside} == {"used", "lost", "idle"}
    places = [part.label_x for part in bar.segments if not part.inside]
    assert places == sorted(places) and all(0 < x < WIDTH for x in places)


@given(st.lists(st.floats(0, 493), min_size=1, max_size=6).map(sorted))
def test_labels_in_a_row_never_touch_and_never_leave_it(middles: list[float]) -> None:
    placed = apart(middles, [70.0] * len(middles), 493.2)
    assert all(right - left >= 70 for left, right in pairwise(placed))
    assert placed[0] >= 35 - 1e-6 and placed[-1] <= 493.2 - 35 + 1e-6


def test_what_is_not_known_is_no_part_of_the_bar(round_report: Report, unbundled_report: Report) -> None:
    blind = copy.deepcopy(round_report)
    blind["cost"].update(down_usd=None, idle_usd=None, capacity_usd=None)
    bar = stack(blind)
    assert bar is not None and (bar.segments[-1].name, bar.segments[-1].usd) == ("Idle or down", 200)
    held = stack(unbundled_report)
    assert held is not None and held.of == "held by jobs"
    assert not {"idle", "down"} & {part.kind for part in held.segments}
    round_report["cost"]["lost_usd"] = None
    assert stack(round_report) is None
    assert '<span class="unmeasured">' in page(round_report).html


def test_nothing_measured_leaves_no_used_and_no_recoverable(unmeasured_report: Report) -> None:
    bar = stack(unmeasured_report)
    assert bar is not None
    assert [part.kind for part in bar.segments] == ["unmeasured", "lost", "idle", "down"]
    table = partitions(unmeasured_report, PARTITIONS)
    assert table.unknown == {"used_usd", "kept_usd", "recoverable_usd"}
    assert not {table.total[key] for key in table.unknown} - {None}
    html = page(unmeasured_report).html
    merged = re.findall(r'<td class="n whole" rowspan="(\d+)">not measured</td>', html)
    assert merged == [str(len(table.rows) + 2)] * 3  # one cell a column, over the slice and its shares too
    assert week_map(unmeasured_report) is None and check(unmeasured_report) is None


def test_a_partition_s_row_is_its_jobs_dollars_and_its_nodes_idleness(round_report: Report) -> None:
    html = page(round_report).html
    # two windows a month: 500 held is 1,000
    assert row_of(html, "a") == ["50", "1,000", "500", "120", "80", "200", "100", "shared", "shared"]
    assert row_of(html, "b") == ["30", "600", "300", "80", "40", "120", "60", "120", "20"]
    assert row_of(html, "a,b") == ["0", "0", "0", "0", "0", "0", "0", "200", "60"]
    assert row_of(html, "Slice")[1:] == ["1,600", "800", "200", "120", "320", "160", "320", "80"]
    assert row_of(html, "Share of what is installed")[-8:] == [
        "80.0%",
        "40.0%",
        "10.0%",
        "6.0%",
        "16.0%",
        "8.0%",
        "16.0%",
        "4.0%",
    ]


def test_partitions_beyond_the_limit_are_summed_not_dropped(round_report: Report) -> None:
    table = partitions(round_report, 2)
    assert [row.name for row in table.rows] == ["a", "2 other rows"]
    assert table.rows[1].usd == {
        "held_usd": 300,
        "used_usd": 150,
        "kept_usd": 40,
        "not_measured_usd": 20,
        "lost_usd": 60,
        "recoverable_usd": 30,
        "idle_usd": 160,
        "down_usd": 40,
    }
    round_report["by_partition"][2]["idle_usd"] = None
    assert partitions(round_report, 2).rows[1].usd["idle_usd"] is None  # a part is not the whole


def test_below_the_floor_the_column_is_the_measured_part_and_not_orange(round_report: Report) -> None:
    assert ">measured part only<" not in page(round_report).html
    round_report["coverage"].update(headline_allowed=False, reason="too little")
    html = page(round_report).html
    assert ">measured part only<" in html and not re.search(r'class="n won', html)
    assert "60" in row_of(html, "b")


def test_the_strip_multiplies_to_the_figure(round_report: Report, unbundled_report: Report) -> None:
    strip = check(round_report)
    assert strip is not None
    (line,) = strip.lines
    assert (line.name, line.hours, line.rate, line.usd) == ("8xH100", "8.00", "10.00", "80.00")
    assert (strip.total, strip.month) == ("80.00", ("365", "160.00"))  # × 730 ÷ 365
    single = check(unbundled_report)
    assert single is not None
    assert {line.name for line in single.lines} <= {"gpus", "memory", "cores"}
    assert all(line.hours is None for line in single.lines)
    round_report["recoverable"].update(high_usd=0.0, high_usd_per_month=0.0)
    assert check(round_report) is None


def test_the_strip_sums_what_it_does_not_list(report: Report) -> None:
    rows = report["recoverable"]["by_class"]
    strip = check(report, 2)
    assert strip is not None and strip.more is not None
    rest = [row["recoverable_usd"] for row in rows[2:] if row["recoverable_usd"]]
    assert strip.more == (len(rest), cents(sum(rest)))


@given(st.floats(0.001, 1e5), st.floats(0.001, 100.0))
def test_the_printed_hours_and_price_give_the_printed_dollars(hours: float, rate: float) -> None:
    shown_hours, shown_rate = factors(hours, rate, hours * rate)
    product = float(shown_hours.replace(",", "")) * float(shown_rate.replace(",", ""))
    assert product == pytest.approx(hours * rate, abs=0.0101, rel=1e-8)


def test_the_week_shows_shares_of_what_is_installed(round_report: Report) -> None:
    slots = [(1, 0, 10.0, 1.2), (1, 1, 10.0, 0.0), (7, 23, 20.0, 0.5)]
    round_report["by_hour_of_week"] = [
        {"weekday": day, "hour": hour, "installed_usd": usd, "held_usd": usd, "recoverable_usd": won}
        for day, hour, usd, won in slots
    ]
    week = week_map(round_report)
    assert week is not None and len(week.cells) == 7 * 24
    # 12 % is the most: classes of 3 %, the last from 12 on
    assert [(cell.level, cell.text) for cell in (week.cells[0], week.cells[1], week.cells[-1])] == [
        (4, "12"),
        (0, "0"),
        (0, "2"),
    ]
    assert sum(cell.level is None for cell in week.cells) == 7 * 24 - 3  # not in the window: hatched, no number
    assert {cell.text for cell in week.cells if cell.level is None} == {None}
    assert "Mon 00:00 (12.0%)" in week.words and "Mon 01:00 (0.0%)" in week.words
    assert len(week.keys) == 6


def test_small_shares_have_a_decimal(round_report: Report) -> None:
    slot = {"weekday": 3, "hour": 5, "installed_usd": 1000.0, "held_usd": 500.0, "recoverable_usd": 4.0}
    round_report["by_hour_of_week"] = [slot]
    week = week_map(round_report)
    assert week is not None and week.cells[2 * 24 + 5].text == "0.4"


def test_without_node_sizes_there_is_no_week_and_the_page_says_why(unbundled_report: Report) -> None:
    html = page(unbundled_report).html
    assert 'class="heat"' not in html and "node sizes are unknown" in html


def test_the_lede_says_shares_of_one_whole(round_report: Report, unbundled_report: Report) -> None:
    for share in ("$2,000 a month installed", "40% was used", "16% was lost", "16% stood idle", "4% was down", "8%"):
        assert share in lede(round_report)
    unbundled_report["cost"].update(held_usd=1000.0, used_usd=500.0, lost_usd=0.0)
    unbundled_report["recoverable"]["high_usd"] = 4.0
    said = lede(unbundled_report)
    assert "50% was used" in said and "nothing was lost" in said and "less than 1%" in said
    assert "idle" not in said
    unbundled_report["recoverable"]["high_usd"] = None
    unbundled_report["cost"]["not_measured_usd"] = 1000.0
    assert "all was held without a measure" in lede(unbundled_report) and "used" not in lede(unbundled_report)


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize("name", REPORTS)
def test_where_is_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    assert len(pages_of(request.getfixturevalue(name), paper)) == 1


def test_four_hundred_partitions_of_long_names_fit_one_page(report: Report) -> None:
    first = report["by_partition"][0]
    report["by_partition"] = [{**first, "partition": f"{n:03d}" + "W" * 69} for n in range(400)]
    report["coverage"].update(headline_allowed=False, reason="too little")
    report["by_hour_of_week"] = report["by_hour_of_week"][:100]
    (text,) = pages_of(report, "letter")
    assert f"{400 - PARTITIONS + 1} other rows" in text


def test_hostile_names_stay_text(hostile_report: Report) -> None:
    html = page(hostile_report).html
    assert "<script" not in html and "<img" not in html and html.count("</style>") == 1
    assert "{{ 7 * 7 }}" in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)


def test_any_single_figure_may_be_null(round_report: Report) -> None:
    places = [("cost", key) for key in round_report["cost"] if "usd" in key]
    places += [("recoverable", key) for key in ("contended_usd", "freed_nodes", "freed_gpus", "freed_cores")]
    rows = [("by_partition", key) for key in round_report["by_partition"][0] if key.endswith("_usd")]
    rows += [("by_hour_of_week", "recoverable_usd"), ("by_hour_of_week", "installed_usd")]
    for part, key in [*places, *rows]:
        changed = copy.deepcopy(round_report)
        (changed[part] if part in ("cost", "recoverable") else changed[part][1])[key] = None
        html = page(changed).html
        assert ">None<" not in html, (part, key)
        if part == "by_partition" and key not in ("installed_usd", "idle_reserved_usd"):
            assert row_of(html, "b").count("not measured") == 1, key


@pytest.mark.parametrize("mode", ["node", "unbundled"])
def test_long_names_that_differ_at_their_ends_stay_apart(round_report: Report, mode: str) -> None:
    round_report["cost"]["mode"] = mode
    first = round_report["by_partition"][0]
    names = ["partition_with_a_long_name_" + "x" * 41 + f"{n:04d}" for n in range(400)]
    round_report["by_partition"] = [{**first, "partition": name} for name in names]
    (text,) = pages_of(round_report, "letter")
    for name in names[: PARTITIONS - 1]:
        assert re.search(rf"partiti\S*…x+{name[-4:]}\s", text)


@pytest.mark.parametrize(
    ("used", "lost", "blind", "true", "false"),
    [
        (800, 0, 0, "no part of a node", "measured"),
        (500, 0, 300, "Of what was measured", "Nothing"),
        (0, 800, 0, "lost to failed attempts.", "not measured"),
        (0, 500, 300, "lost to failed attempts or not measured.", "no part of a node"),
    ],
)
def test_nothing_recoverable_is_not_nothing_held_beyond_need(
    round_report: Report, *, used: float, lost: float, blind: float, true: str, false: str
) -> None:
    round_report["recoverable"].update(high_usd=0.0, high_usd_per_month=0.0)
    round_report["cost"].update(used_usd=used, kept_usd=0.0, lost_usd=lost, not_measured_usd=blind)
    last = re.split(r"(?<=down\.) ", lede(round_report))[1]
    assert true in last and false not in last


def test_without_a_failure_this_page_says_so_and_that_of_failures_is_left_out(round_report: Report) -> None:
    assert PAGES["failures"](round_report) is not None
    assert "No attempt failed" not in page(round_report).html
    round_report["cost"]["lost_usd"], round_report["lost"] = 0.0, []
    assert PAGES["failures"](round_report) is None
    assert "No attempt failed" in page(round_report).html
