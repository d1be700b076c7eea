"""The page on GPUs: what was never touched and what was not measured stand apart from every bar between them."""

import dataclasses
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.charts import short_hours
from audit.reporting.definition import definition
from audit.reporting.page import render_page
from audit.reporting.pages.gpus import gpus
from audit.reporting.pdf import render_pdf

Report = dict[str, Any]
GIB = 2**30


def untouched(partition: str | None, usd: float | None = 5.0) -> Report:
    """Of 8 attempts with 60 GPU-hours measured, 2 left some untouched, 15 hours of them."""
    return {
        "partition": partition,
        "attempts": 2,
        "of_attempts": 8,
        "gpu_hours": 15.0,
        "of_gpu_hours": 60.0,
        "usd": usd,
    }


def card(name: str, gpu_hours: list[float], missing: float = 0.0) -> Report:
    return {"card": name, "mem_bytes": 80 * GIB, "gpu_hours": gpu_hours, "not_measured_gpu_hours": missing}


@pytest.fixture
def small(report: Report) -> Report:
    """160 GPU-hours: 30 never touched, 90 at some activity, 40 not measured; a month is two windows."""
    report["window"]["month_factor"] = 2.0
    report["hours"]["held"]["gpu"] = 160.0
    report["gpus"] = {
        "never_touched_gpu_hours": 30.0,
        "activity_gpu_hours": [60.0, 0.0, 0.0, 0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 10.0],
        "activity_unknown_gpu_hours": 0.0,
        "not_measured_gpu_hours": 40.0,
        "never_touched": [untouched("gpu"), untouched("h100", 7.0)],
        "vram": [card("A100", [10.0, 0, 0, 20.0, 30.0, 0, 0, 20.0], 20.0), card("H100", [0.0] * 8, 50.0)],
    }
    return report


def pages_in(report: Report, paper: str = "a4") -> list[str]:
    page = render_page(report, dataclasses.replace(definition(), pages=("gpus",)))
    pages = PdfReader(BytesIO(render_pdf(page, paper))).pages
    return [" ".join(page.extract_text().split()) for page in pages]


def html_of(report: Report) -> str:
    return render_page(report, dataclasses.replace(definition(), pages=("gpus",))).html


def test_a_cluster_without_gpus_has_no_such_page(cpu_report: Report) -> None:
    assert gpus(cpu_report) is None


def test_the_finding_is_the_share_never_touched_of_what_was_measured(small: Report) -> None:
    # 30 of 60 + 60 GPU-hours measured; 5 + 7 dollars of the window, twice that a month
    assert gpus(small)["lede"] == (
        "Jobs never touched 25% of the GPU-hours that they held and that were measured. "
        "Asking for fewer GPUs could win back at most $24.0 a month."
    )


def test_under_the_floor_the_finding_has_no_dollars(small: Report) -> None:
    small["coverage"]["headline_allowed"] = False
    assert "$" not in gpus(small)["lede"]
    assert "measured part only" in pages_in(small)[0]


def test_the_ends_stand_apart_and_heights_are_hours(small: Report) -> None:
    chart = gpus(small)["activity"]
    first, *tenths, last = chart.bars
    assert (first.column.kind, first.column.value) == ("untouched", 30)
    assert (last.column.kind, last.column.value) == ("unmeasured", 40)
    assert len(tenths) == 10
    assert first.height / tenths[0].height == pytest.approx(30 / 60)
    assert last.height / tenths[0].height == pytest.approx(40 / 60)
    inside = tenths[1].x - (tenths[0].x + tenths[0].width)
    assert tenths[0].x - (first.x + first.width) > 5 * inside
    assert last.x - (tenths[-1].x + tenths[-1].width) > 5 * inside
    # 0 to 60 in three steps of 20: nothing is taller than the scale
    assert [label for _, label in chart.grid] == ["0", "20", "40", "60"]
    assert min(bar.y for bar in chart.bars) == pytest.approx(chart.grid[-1][0])


def test_a_tenth_of_no_hours_has_its_0_and_no_bar(small: Report) -> None:
    small["gpus"]["vram"] = []
    html = html_of(small)
    assert html.count('fill="#1F4E80"') == 3  # 60, 20 and 10 hours
    assert html.count(">0</text>") == 7 + 1  # seven empty tenths, and the axis


def test_activity_that_is_not_known_is_no_activity_of_0(small: Report) -> None:
    small["gpus"].update(activity_gpu_hours=None, activity_unknown_gpu_hours=90.0)
    assert [bar.column.value for bar in gpus(small)["activity"].bars] == [30, 90, 40]
    assert "0–10" not in pages_in(small)[0]


def test_nothing_measured_is_said_and_nothing_is_drawn(unmeasured_report: Report) -> None:
    shown = gpus(unmeasured_report)
    assert shown["activity"] is None
    assert shown["rows"] == []
    assert {one.chart for one in shown["cards"]} <= {None}
    html = html_of(unmeasured_report)
    assert "<svg" not in html
    assert html.count(">not measured<") == 1 + len(shown["cards"])


def test_partitions_are_cut_and_summed(small: Report) -> None:
    small["gpus"]["never_touched"] = [untouched(f"p{number}") for number in range(400)]
    shown = gpus(small)
    *named, others = shown["rows"]
    assert [row.partition for row in named] == ["p0", "p1", "p2", "p3", "p4"]
    # 395 x (2 of 8 attempts, 15 of 60 GPU-hours, 5 dollars of the window)
    assert (others.partition, others.members, others.attempts, others.of_attempts) == (None, 395, 790, 3160)
    assert (others.gpu_hours, others.of_gpu_hours, others.share, others.usd) == (5925, 23700, 0.25, 3950)
    assert (shown["total"].attempts, shown["total"].usd) == (800, 4000)
    assert len(pages_in(small, "letter")) == 1


def test_dollars_that_are_not_known_leave_their_sum_unknown(small: Report) -> None:
    small["gpus"]["never_touched"][0]["usd"] = None
    shown = gpus(small)
    assert [row.usd for row in shown["rows"]] == [None, 14]
    assert shown["total"].usd is None
    assert "$" not in shown["lede"]


def test_a_card_s_bars_are_shares_of_its_hours(small: Report) -> None:
    a100, h100 = gpus(small)["cards"]
    # 100 GPU-hours: 10, 20, 30 and 20 measured, 20 not; below half: 10 + 20
    assert [bar.column.shown for bar in a100.chart.bars] == ["10", "0", "0", "20", "30", "0", "0", "20", "20"]
    assert a100.finding.startswith("30% ")
    assert [bar.column.kind for bar in a100.chart.bars] == ["spare"] * 4 + ["used"] * 4 + ["unmeasured"]
    assert (a100.half, a100.full) == ("40", "80")
    assert h100.chart is None


def test_cards_share_one_scale_and_the_rest_are_counted(small: Report) -> None:
    small["gpus"]["vram"] = [card(f"card{n}", [90.0 - n, 0, 0, 0, 0, 0, 0, 10.0]) for n in range(6)]
    small["hours"]["held"]["gpu"] = 700.0
    shown = gpus(small)
    assert [one.name for one in shown["cards"]] == [f"card{n}, 80 GiB" for n in range(4)]
    # 10 of 100 hours beside 10 of 97
    heights = [one.chart.bars[7].height for one in (shown["cards"][0], shown["cards"][3])]
    assert heights[1] / heights[0] == pytest.approx((10 / 97) / (10 / 100))
    # 700 held, less 100 + 99 + 98 + 97 + 96 + 95
    assert (shown["more_cards"], shown["without_card"]) == (2, pytest.approx(115))


@pytest.mark.parametrize(
    ("hours", "text"),
    [(0, "0"), (0.2, "<1"), (12_356.2, "12,356"), (999_400, "999,400"), (62_231_531, "62.2M"), (1.5e9, "1.50B")],
)
def test_hours_in_a_chart_are_short(hours: float, text: str) -> None:
    assert short_hours(hours) == text


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize(
    "name", ["report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report", "small"]
)
def test_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    assert len(pages_in(request.getfixturevalue(name), paper)) == 1


def test_hostile_names_stay_text(hostile_report: Report) -> None:
    html = html_of(hostile_report)
    assert "<script" not in html and "<img" not in html
    assert "n" * 60 not in html
