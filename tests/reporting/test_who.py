"""The page on job families, accounts and users: what is cut is summed up, and a need that is not known is none."""

import dataclasses
import re
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.asked import RESOURCES, request
from audit.reporting.charts import CLAMP
from audit.reporting.definition import definition
from audit.reporting.dollars import dollars
from audit.reporting.page import Page, render_page
from audit.reporting.pages.who import who
from audit.reporting.pdf import render_pdf

GPUS, MEMORY, CORES = RESOURCES
GIB = 2**30
Report = dict[str, Any]


def family(name: str = "train_#", usd: float = 10.0, **other: Any) -> Report:
    """A family of 4 attempts: asks for 4 GPUs, 64 GiB and 16 cores, needs at most 2, 32 and (a mean) 4."""
    row: Report = {
        "account": "physics",
        "family": name,
        "attempts": 4,
        "users": 1,
        "user": "u-04",
        "partitions": 1,
        "partition": "gpu",
        "held_usd": 100.0,
        "used_usd": 50.0,
        "kept_usd": 40.0,
        "not_measured_usd": 0.0,
        "lost_usd": 0.0,
        "recoverable_usd": usd,
        "expected_usd": None,
        "killed": None,
        "of": None,
        "slowed": None,
        "asks_too_little": 0,
        "mem_asked_bytes": 64 * GIB,
        "mem_need_p10_bytes": 16 * GIB,
        "mem_need_p90_bytes": 32 * GIB,
        "cores_asked": 16.0,
        "cores_need_p10": None,
        "cores_need_p90": None,
        "cores_used_p50": 4.0,
        "gpus_asked": 4.0,
        "gpus_need_p10": 1.0,
        "gpus_need_p90": 2.0,
    }
    return row | other


def twelve(report: Report) -> Report:
    """Twelve families of 120, 110, … 10 recoverable dollars (780 in all) and one of none; a month is two windows."""
    report["families"] = [family(f"f{n}_#", usd) for n, usd in enumerate(range(120, 0, -10))] + [family("none_#", 0.0)]
    report["recoverable"]["high_usd"] = 780.0
    report["window"]["month_factor"] = 2.0
    report["attempts"] = 52
    return report


def page_of(report: Report) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=("who",)))


def pages_in(report: Report, paper: str = "a4") -> list[str]:
    pages = PdfReader(BytesIO(render_pdf(page_of(report), paper))).pages
    return [" ".join(page.extract_text().split()) for page in pages]


def test_ten_families_then_the_others_then_all(report: Report) -> None:
    shown = who(twelve(report))["families"]
    assert [row.usd for row in shown.rows] == [240, 220, 200, 180, 160, 140, 120, 100, 80, 60]
    # The others: 20 + 10 + 0 dollars of the window, of three families with 4 attempts each.
    assert (shown.rest_name, shown.rest_usd, shown.rest_most, shown.rest_attempts) == ("3 other families", 60, 40, 12)
    assert (shown.total_name, shown.total_usd) == ("All 13 families", 1560)
    assert shown.rows[0].of_held == pytest.approx(1.2)  # 120 of 100 held, both in the window


def test_the_finding_says_how_few_families_have_most_of_it(report: Report) -> None:
    # 750 / 780 = 96 %; 230 / 780 = 29 %
    assert who(twelve(report))["lede"] == "10 of 12 families have 96% of the recoverable dollars, the first two 29%."
    report["families"] = [family(usd=30.0, asks_too_little=2), family(usd=10.0, asks_too_little=1)]
    # 30 / 40 = 75 %; 2 + 1 attempts
    assert who(report)["lede"] == (
        "2 families have all of the recoverable dollars, the first 75%. 3 attempts used more than they had asked for."
    )


def advised(report: Report) -> Report:
    """Twelve families with 120, 110, … 10 expected and two that lose 5 each, of 2 killed in each; half of their ceiling."""
    report["families"] = [
        family(f"f{n}_#", 2.0 * usd, expected_usd=float(usd), killed=n, of=40, slowed=0)
        for n, usd in enumerate(range(120, 0, -10))
    ]
    report["families"] += [family(f"lost{n}_#", 3.0, expected_usd=-5.0, killed=2, of=4, slowed=1) for n in (1, 2)]
    report["recoverable"].update(high_usd=1566.0, expected_usd=770.0, kills={"killed": 70, "of": 488})
    report["window"]["month_factor"] = 2.0
    report["attempts"] = 56
    return report


def test_with_a_model_families_go_by_what_is_expected_and_name_whom_it_kills(report: Report) -> None:
    shown = who(advised(report))
    table = shown["families"]
    assert [row.usd for row in table.rows] == [240, 220, 200, 180, 160, 140, 120, 100, 80, 60]
    assert [row.high for row in table.rows][:2] == [480, 440]
    assert [(row.killed, row.of) for row in table.rows][:3] == [(0, 40), (1, 40), (2, 40)]
    # the others: 20 + 10 - 5 - 5 dollars of the window
    assert (table.rest_usd, table.rest_losing, table.total_usd, table.total_killed) == (40, 2, 1540, (70, 488))
    # 750 of the 780 that twelve win; 230 of them
    assert shown["lede"] == "10 of 12 families have 96% of the expected dollars, the first two 29%."
    (text,) = pages_in(report)
    assert "would have been killed" in text and "1 of 40" in text and "2 of them lose by it" in text


def test_where_advice_wins_nothing_families_go_by_the_ceiling(report: Report) -> None:
    for row in advised(report)["families"]:
        row["expected_usd"] = -1.0
    shown = who(report)
    assert not shown["is_expected"] and shown["is_advised"]
    assert shown["families"].rows[0].usd == 480 and shown["families"].total_usd == 3132
    assert "would have been killed" in pages_in(report)[0]


def test_fewer_families_are_shown_where_each_needs_more_lines(report: Report) -> None:
    # 27 lines: name and account, and one each for slowed and for too little
    for changed, shown in (({}, 10), ({"slowed": 1}, 9), ({"slowed": 1, "asks_too_little": 1}, 6)):
        report["families"] = [family(usd=10.0, expected_usd=5.0, killed=0, of=4) | changed for _ in range(12)]
        report["recoverable"].update(expected_usd=60.0, kills={"killed": 0, "of": 48})
        assert len(who(report)["families"].rows) == shown
        assert who(report)["families"].rest_name == f"{12 - shown} other families"


def test_a_loss_is_in_ink(report: Report) -> None:
    report["families"] = [family("won", 20.0, expected_usd=5.0, killed=0, of=2, slowed=0)]
    report["families"].append(family("lost", 3.0, expected_usd=-4.0, killed=2, of=4, slowed=1))
    report["recoverable"].update(expected_usd=1.0, kills={"killed": 2, "of": 6})
    report["window"]["month_factor"] = 1.0
    html = page_of(report).html
    assert '<td class="n usd won">5' in html and '<td class="n usd loss">−4' in html
    assert "1 slowed" in html and "2 of 4" in html


@pytest.mark.parametrize(
    ("resource", "changed", "asked", "need", "mean"),
    [
        (MEMORY, {}, "64", "32", None),
        (MEMORY, {"mem_asked_bytes": GIB // 2, "mem_need_p90_bytes": GIB // 100}, "0.5", "<0.1", None),
        (MEMORY, {"mem_asked_bytes": 12 * 1024 * GIB}, "12.0 TiB", "32", None),
        (MEMORY, {"mem_need_p90_bytes": None}, "64", None, None),
        (MEMORY, {"mem_asked_bytes": None}, None, None, None),
        (CORES, {}, "16", None, "4"),
        (CORES, {"cores_need_p90": 9.3}, "16", "9.3", None),
        (CORES, {"cores_used_p50": None}, "16", None, None),
        (GPUS, {}, "4", "2", None),
        (GPUS, {"gpus_need_p90": 0.0}, "4", "0", None),
        (GPUS, {"gpus_asked": None, "gpus_need_p90": None}, None, None, None),
    ],
)
def test_a_mean_is_no_need_and_an_unknown_need_is_not_0(
    resource: str, changed: Report, asked: str | None, need: str | None, mean: str | None
) -> None:
    cell = request(family(**changed), resource)
    assert (cell.asked, cell.need, cell.mean) == (asked, need, mean)
    assert (cell.mark is None) == (need is None and mean is None)


@pytest.mark.parametrize(
    ("low", "high", "starts", "ends", "cut"),
    [
        (16, 32, 0.25, 0.5, False),  # 16 and 32 of 64 GiB asked
        (16, 80, 0.25, 1.25, False),  # past what was asked
        (64, 640, 1.0, CLAMP, True),  # ten times what was asked: the bar ends at the drawing's end
    ],
)
def test_a_range_mark_is_in_parts_of_what_was_asked(low: int, high: int, starts: float, ends: float, cut: bool) -> None:
    mark = request(family(mem_need_p10_bytes=low * GIB, mem_need_p90_bytes=high * GIB), MEMORY).mark
    assert mark is not None and mark.bar is not None
    assert (mark.bar[0] / mark.tick, sum(mark.bar) / mark.tick) == pytest.approx((starts, ends))
    assert mark.cut is cut
    assert sum(mark.bar) <= mark.width + 1e-9


@pytest.mark.parametrize("need", [0, 64, 640])
def test_a_need_without_spread_can_be_seen(need: int) -> None:
    mark = request(family(mem_need_p10_bytes=need * GIB, mem_need_p90_bytes=need * GIB), MEMORY).mark
    assert mark is not None and mark.bar is not None
    assert mark.bar[1] > 1 and mark.bar[0] >= 0 and sum(mark.bar) <= mark.width + 1e-9


def test_accounts_beyond_six_are_summed_and_the_total_is_the_reports(report: Report) -> None:
    row = family() | {"held_usd": 100.0, "lost_usd": 7.0}
    report["accounts"] = [row | {"account": f"a{n}", "recoverable_usd": 10.0 - n} for n in range(8)]
    report["window"]["month_factor"] = None
    report["cost"].update(held_usd=800.0, lost_usd=56.0)
    report["recoverable"]["high_usd"] = 52.0
    table = who(report)["holders"][0]
    assert [row.recoverable for row in table.rows] == [10, 9, 8, 7, 6, 5, 4 + 3]
    assert (table.rows[6].name, table.rows[6].members, table.rows[6].held, table.rows[6].lost) == (None, 2, 200, 14)
    assert (table.total_name, table.total.held, table.total.lost, table.total.recoverable) == (
        "All 8 accounts",
        800,
        56,
        52,
    )


def test_an_account_of_which_nothing_was_measured_is_not_one_with_nothing_to_win(report: Report) -> None:
    nothing = {"used_usd": 0.0, "kept_usd": 0.0, "recoverable_usd": 0.0}
    report["accounts"] = [
        family(**nothing) | {"account": "unwatched", "not_measured_usd": 60.0, "lost_usd": 40.0},
        family(**nothing) | {"account": "all failed", "not_measured_usd": 0.0, "lost_usd": 100.0},
        family(**nothing) | {"account": "frugal", "used_usd": 100.0},
    ]
    assert [row.recoverable for row in who(report)["holders"][0].rows] == [None, 0, 0]


def test_without_any_measure_the_page_ranks_by_what_is_held_and_wins_nothing(unmeasured_report: Report) -> None:
    shown = who(unmeasured_report)
    assert not shown["to_win"]
    usd = [row.usd for row in shown["families"].rows]
    assert usd == sorted(usd, reverse=True)
    factor = unmeasured_report["window"]["month_factor"]
    assert usd[0] == pytest.approx(max(row["held_usd"] for row in unmeasured_report["families"]) * factor)
    assert shown["families"].total_usd == pytest.approx(unmeasured_report["cost"]["held_usd_per_month"])
    assert {row.recoverable for table in shown["holders"] for row in (*table.rows, table.total)} == {None}
    assert {one.need for row in shown["families"].rows for one in row.requests.values()} == {None}
    # GPUs, memory and cores once each in the head; each table's column, and its total.
    assert page_of(unmeasured_report).html.count(">not measured<") == 3 + 2 * 2


def test_a_short_window_shows_its_own_dollars(short_report: Report) -> None:
    shown = who(short_report)
    assert shown["unit"] == "$ in the window"
    assert shown["families"].total_usd == short_report["recoverable"]["high_usd"]
    assert "a month" not in pages_in(short_report)[0]


def test_under_the_floor_the_dollars_are_those_of_the_measured_part(report: Report) -> None:
    assert "measured part only" not in pages_in(report)[0]
    report["coverage"].update(headline_allowed=False, reason="too little")
    assert pages_in(report)[0].count("measured part only") == 3  # families, accounts, users


def test_a_cluster_without_gpus_has_no_column_for_them(cpu_report: Report) -> None:
    assert [name for name, _ in who(cpu_report)["resources"]] == [MEMORY, CORES]
    assert "GPUs" not in pages_in(cpu_report)[0]


@pytest.mark.parametrize(
    ("largest", "unit", "cell"),
    [
        (99_000_000.0, "$ a month", 99_000_000),
        (123_456_789_000.0 / 2, "thousand $ a month", 61_728_394.5),
        (123_456_789_012.0, "million $ a month", 123_456.789012),
    ],
)
def test_large_dollars_are_shown_in_thousands_or_millions(
    report: Report, largest: float, unit: str, cell: float
) -> None:
    report["window"]["month_factor"] = 1.0
    money = dollars(report, [1.0, None, largest])
    assert (money.unit, money.cell(largest)) == (unit, pytest.approx(cell))
    assert money.prose(1_234_567) == "$1,230,000 a month"
    assert money.cell(None) is None


def test_hostile_names_stay_text(hostile_report: Report) -> None:
    html = page_of(hostile_report).html
    assert "<script" not in html and "<img" not in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)
    assert "n" * 60 not in html


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize(
    "name",
    [
        *("report", "cpu_report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report"),
        "advised_report",
    ],
)
def test_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    assert len(pages_in(request.getfixturevalue(name), paper)) == 1


@pytest.mark.parametrize("is_advised", [False, True])
@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_long_unbroken_names_and_large_numbers_fit(report: Report, paper: str, *, is_advised: bool) -> None:
    long = {"family": "W" * 72, "account": "W" * 72, "user": "W" * 72, "partition": "数" * 72}
    report["families"] = [
        family(usd=1e11, attempts=9_999_999, asks_too_little=99_999, held_usd=1e12) | long for _ in range(40)
    ]
    if is_advised:
        report["recoverable"].update(expected_usd=1e12, kills={"killed": 9_999_999, "of": 99_999_999})
        for row in report["families"]:
            row.update(expected_usd=9e10, killed=999_999, of=9_999_999, slowed=999_999)
    report["accounts"] = report["users"] = report["families"]
    report["coverage"]["headline_allowed"] = False
    assert len(pages_in(report, paper)) == 1


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_long_names_that_differ_at_their_ends_stay_apart(report: Report, paper: str) -> None:
    names = ["name_with_a_long_middle_" + "x" * 44 + f"{n:04d}" for n in range(7)]
    report["families"] = [family(name, 70.0 - n, account=name) for n, name in enumerate(names)]
    report["accounts"] = report["families"]
    report["users"] = [{**row, "user": row["account"]} for row in report["families"]]
    (text,) = pages_in(report, paper)
    for name in names:
        assert len(re.findall(rf"n\w*…x*{name[-4:]}\b", text)) == 4  # family, its account, account, user


def test_one_family_of_one_user(report: Report) -> None:
    report["families"] = report["accounts"] = report["users"] = [family(usd=40.0)]
    shown = who(report)
    assert shown["lede"] == "One family has all of the recoverable dollars."
    assert (shown["families"].rest_name, shown["families"].total_name) == (None, "1 family")
    assert len(pages_in(report)) == 1
