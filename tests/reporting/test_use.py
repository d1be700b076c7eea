"""The page on memory, cores and walltime: every hour is in one bar, and what frees nothing has no dollars."""

import dataclasses
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.definition import definition
from audit.reporting.page import Page, render_page
from audit.reporting.pages.use import use
from audit.reporting.pdf import render_pdf

Report = dict[str, Any]


def used(resource: str, hours: list[float] | None, over: float | None, missing: float, attempts: int = 8) -> Report:
    return {
        "resource": resource,
        "hours": hours,
        "over_hours": over,
        "attempts": attempts,
        "not_measured_hours": missing,
        "not_measured_attempts": 2,
    }


@pytest.fixture
def small(report: Report) -> Report:
    """100 GiB-hours, 200 core-hours, 50 elapsed hours; a month is two windows."""
    report["use"] = [
        used("memory", [10, 20, 20, 10, 0, 10, 10, 0, 0, 5], 5, 10),
        used("cores", [0, 0, 0, 0, 20, 0, 60, 80, 0, 0], 0, 40),
        used("walltime", [5, 5, 0, 0, 10, 0, 0, 0, 5, 0], 0, 25),
    ]
    report["hours"]["held"] = {"mem_gib": 100.0, "core": 200.0, "gpu": 30.0}
    report["efficiency"] = {"mem": 0.375, "core": 0.5, "gpu": 0.9}
    report["recoverable"]["high_usd"] = 60.0
    report["recoverable_by_resource"] = [
        {"resource": "gpus", "usd": 40.0, "usd_per_month": 80.0, "attempts": 3, "families": 1},
        {"resource": "memory", "usd": 20.0, "usd_per_month": 40.0, "attempts": 2, "families": 2},
    ]
    report["window"]["month_factor"] = 2.0
    return report


def page_of(report: Report) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=("use",)))


def pages_in(report: Report, paper: str = "a4") -> list[str]:
    pages = PdfReader(BytesIO(render_pdf(page_of(report), paper))).pages
    return [" ".join(page.extract_text().split()) for page in pages]


def test_every_hour_is_in_one_bar(small: Report) -> None:
    for one in use(small)["charts"]:
        assert sum(bar.column.value for bar in one.chart.bars) == pytest.approx(1)


def test_tenths_then_more_than_asked_then_what_is_not_known(small: Report) -> None:
    memory = use(small)["charts"][0]
    shown = [bar.column.shown for bar in memory.chart.bars]
    assert shown == ["10", "20", "20", "10", "0", "10", "10", "0", "0", "5", "5", "10"]
    assert [bar.column.apart for bar in memory.chart.bars] == [False] * 10 + [True, True]
    assert memory.chart.bars[-1].column.kind == "unmeasured"
    # 10 + 20 + 20 + 10 of 100 below half, 90 of 100 measured
    assert memory.finding.startswith("60% of GiB-hours")
    assert memory.known == "90.0% of GiB-hours measured"


def test_the_three_share_one_scale(small: Report) -> None:
    memory, cores, walltime = use(small)["charts"]
    # the tallest is walltime's 25 of 50 that did not complete; cores: 80 of 200 = 40 %, memory: 20 %
    heights = [max(bar.height for bar in one.chart.bars) for one in (memory, cores, walltime)]
    assert [height / heights[2] for height in heights] == pytest.approx([0.2 / 0.5, 0.4 / 0.5, 1])
    assert len({one.chart.grid for one in (memory, cores, walltime)}) == 1


def test_the_finding_says_what_was_used_of_what_was_held(small: Report) -> None:
    # walltime: 5 + 5 + 10 of 50 elapsed hours
    assert use(small)["lede"] == (
        "Where it was measured, jobs used 38% of the memory and 50% of the cores that they held; "
        "40% of elapsed hours ended within half of their limit."
    )


def test_dollars_through_each_resource_add_up_to_what_is_recoverable(small: Report) -> None:
    small["families"] = [family | {"cores_need_p50": 3.0} for family in small["families"]]
    shown = use(small)
    rows = {row.name: row for row in shown["rows"]}
    assert {name: row.usd for name, row in rows.items()} == {"Memory": 40, "Cores": 0, "GPUs": 80, "Walltime": None}
    assert not rows["Walltime"].has_dollars
    assert shown["total"] == 120
    assert (rows["Memory"].hours, rows["Cores"].hours, rows["Walltime"].hours) == (100, 200, 50)
    assert (rows["Memory"].used, rows["Walltime"].used) == (0.375, None)
    assert rows["Walltime"].measured == pytest.approx(0.5)


def test_without_the_most_cores_in_a_minute_what_cores_free_is_not_measured(small: Report) -> None:
    small["families"] = [family | {"cores_need_p50": None} for family in small["families"]]
    cores = next(row for row in use(small)["rows"] if row.name == "Cores")
    assert cores.has_dollars and cores.usd is None


def test_attempts_that_ask_too_little_are_counted_over_all_families(small: Report) -> None:
    small["families"] = [family | {"asks_too_little": 0} for family in small["families"]]
    small["families"][0]["asks_too_little"] = 3
    small["families"][-1]["asks_too_little"] = 4
    assert use(small)["asks_too_little"] == 7


def test_nothing_measured_is_said_and_not_drawn(unmeasured_report: Report) -> None:
    memory, cores, walltime = use(unmeasured_report)["charts"]
    assert (memory.chart, cores.chart) == (None, None)
    assert walltime.chart is not None  # accounting alone says how long an attempt ran
    html = page_of(unmeasured_report).html
    assert html.count("<svg") == 1
    rows = {row.name: row for row in use(unmeasured_report)["rows"]}
    assert {(row.measured, row.used, row.usd) for name, row in rows.items() if name != "Walltime"} == {
        (None, None, None)
    }
    assert not use(unmeasured_report)["peaks_known"]


def test_a_cluster_without_gpus_has_no_row_for_them(cpu_report: Report) -> None:
    assert "GPUs" not in [row.name for row in use(cpu_report)["rows"]]


def test_a_missing_tenth_is_not_taken_for_0(small: Report) -> None:
    small["use"][0]["hours"][3] = None
    assert use(small)["charts"][0].chart is None


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize(
    "name",
    ["report", "cpu_report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report", "small"],
)
def test_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    assert len(pages_in(request.getfixturevalue(name), paper)) == 1


def test_the_charts_say_their_numbers_to_who_cannot_see_them(small: Report) -> None:
    for one in use(small)["charts"]:
        assert f"<title>{one.chart.alt}</title>" in page_of(small).html
    assert "more than asked: 5; not measured: 10" in use(small)["charts"][0].chart.alt


def test_with_a_model_what_is_expected_stands_beside_the_ceiling(small: Report) -> None:
    assert not use(small)["is_expected"]
    small["recoverable"]["expected_usd"] = 25.0
    for row, usd in zip(small["recoverable_by_resource"], (30.0, -5.0), strict=True):
        row["expected_usd"] = usd
    shown = use(small)
    rows = {row.name: (row.expected_usd, row.usd) for row in shown["rows"]}
    # a month is two windows; what the need of was not measured is no number; a limit has no dollars
    assert rows == {"Memory": (-10, 40), "Cores": (None, None), "GPUs": (60, 80), "Walltime": (None, None)}
    assert (shown["expected_total"], shown["total"]) == (50, 120)
    html = page_of(small).html
    assert "−10" in html and len(PdfReader(BytesIO(render_pdf(page_of(small), "letter"))).pages) == 1
