"""The page on what failed: every lost dollar once, by how attempts ended and by family."""

import dataclasses
import re
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.definition import definition
from audit.reporting.page import Page, render_page
from audit.reporting.pages.failures import CAUSE_ROWS, FAMILY_ROWS, failures
from audit.reporting.pdf import render_pdf

Report = dict[str, Any]
NAME = "<script>alert(1)</script>" + "n" * 500


def cause(name: str, attempts: int, usd: float | None) -> Report:
    return {"cause": name, "attempts": attempts, "core_hours": 8.0, "gpu_hours": 2.0, "mem_gib_hours": 64.0, "usd": usd}


def family(name: str | None, lost: int, attempts: int, usd: float | None, **other: Any) -> Report:
    """A family that held 100 dollars."""
    row: Report = {"account": "physics", "family": name, "users": 1, "user": "u-04", "held_usd": 100.0}
    return row | {"lost_attempts": lost, "attempts": attempts, "lost_usd": usd} | other


def lossy(report: Report) -> Report:
    """Of 100 attempts that held 1,000 dollars 40 were lost, with 200 dollars; a month is two windows."""
    report["attempts"] = 100
    report["window"]["month_factor"] = 2.0
    report["cost"].update(held_usd=1000.0, lost_usd=200.0)
    report["lost"] = [cause("FAILED", 30, 50.0), cause("TIMEOUT", 10, 150.0)]
    report["actions"] = [{"kind": "failure", "subject": "TIMEOUT", "action": "Raise the limits"}]
    report["families"] = [
        family("a_#", 5, 20, 80.0),
        family("b_#", 35, 70, 120.0, users=3),
        family("well_#", 0, 10, 0.0),
    ]
    return report


def page_of(report: Report) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=("failures",)))


def test_dollars_hours_and_shares_by_how_attempts_ended(report: Report) -> None:
    shown = failures(lossy(report))
    timeout, failed = shown["causes"]
    assert (timeout.name, timeout.usd, timeout.share, timeout.of_attempts) == ("TIMEOUT", 300, 0.75, 0.1)
    assert (failed.name, failed.usd, failed.share, failed.of_attempts) == ("FAILED", 100, 0.25, 0.3)
    assert (timeout.action, failed.action) == ("Raise the limits", None)
    everything = shown["all_causes"]
    assert (everything.attempts, everything.usd, everything.share) == (40, 400, 1.0)
    assert (everything.core_hours, everything.gpu_hours) == (16, 4)


def test_the_sentence_says_how_many_what_they_held_and_what_ended_most_of_it(report: Report) -> None:
    lede = failures(lossy(report))["lede"]
    assert all(figure in lede for figure in ("40 of 100 attempts", "$400 a month", "20.0%", "75%", "TIMEOUT"))


def test_bars_stand_on_one_scale_from_zero(report: Report) -> None:
    chart = failures(lossy(report))["chart"]
    (_, longest), (_, shorter) = chart.bars
    assert longest.length == pytest.approx(3 * shorter.length)
    places = [place for place, _ in chart.ticks]
    assert [label for _, label in chart.ticks] == ["0", "$100", "$200", "$300"]
    assert chart.left + longest.length == pytest.approx(places[-1])
    assert places[0] == chart.left
    assert "TIMEOUT: 300 (75.0%)" in chart.alt


def test_families_that_lost_the_most(report: Report) -> None:
    shown = failures(lossy(report))
    first, second = shown["families"]
    assert (first.family, first.user, first.lost_attempts, first.attempts) == ("b_#", "3 users", 35, 70)
    assert (first.usd, first.share, first.own) == (240, 0.6, pytest.approx(1.2))
    assert (second.user, second.share, second.own) == ("u-04", 0.4, 0.8)
    every = shown["all_families"]
    assert (every.members, every.lost_attempts, every.attempts, every.usd, every.share) == (2, 40, 90, 400, 1.0)


def test_what_is_beyond_the_limits_is_summed_not_dropped(report: Report) -> None:
    lossy(report)
    report["lost"] = [cause(f"END_{n}", n, 10.0 * n) for n in range(1, 9)]  # 1 + … + 8 = 36
    report["cost"]["lost_usd"] = 360.0
    report["families"] = [family(f"f{n}_#", n, 10, 10.0 * n) for n in range(1, 13)]
    shown = failures(report)
    rest = shown["causes"][-1]
    assert (len(shown["causes"]), rest.name, rest.members) == (CAUSE_ROWS, None, 3)
    assert (rest.attempts, rest.usd, rest.share) == (6, 120, pytest.approx(60 / 360))
    others = shown["families"][-1]
    assert (len(shown["families"]), others.family, others.members) == (FAMILY_ROWS, None, 5)
    assert (others.lost_attempts, others.attempts, others.usd) == (15, 50, 300)


def test_a_cluster_without_failures_has_no_such_page(report: Report) -> None:
    lossy(report).update(lost=[], families=[family("well_#", 0, 10, 0.0)])
    report["cost"]["lost_usd"] = 0.0
    assert failures(report) is None
    assert "<section" not in page_of(report).html


def test_what_has_no_price_is_no_zero(report: Report) -> None:
    lossy(report)["cost"]["lost_usd"] = None
    report["lost"] = [cause("FAILED", 30, None)]
    report["families"] = [family("a_#", 30, 90, None)]
    shown = failures(report)
    assert shown["chart"] is None
    assert (shown["causes"][0].usd, shown["causes"][0].share, shown["families"][0].own) == (None, None, None)
    assert "$" not in shown["lede"] and "30 of 100 attempts" in shown["lede"]
    # The cause, all causes, the family, all families.
    assert page_of(report).html.count('<span class="unmeasured">not priced</span>') == 4


def test_a_part_without_a_price_leaves_the_sum_unknown(report: Report) -> None:
    lossy(report)["lost"].append(cause("NODE_FAIL", 1, None))
    shown = failures(report)
    assert [row.usd for row in shown["causes"]] == [300, 100, None]
    assert shown["all_causes"].usd is None
    assert shown["chart"].bars[-1][1].length is None


def test_one_attempt_lost(report: Report) -> None:
    lossy(report).update(attempts=1, lost=[cause("TIMEOUT", 1, 200.0)])
    report["cost"]["held_usd"] = 200.0
    report["families"] = [family(None, 1, 1, 200.0, account=None, users=0, user=None)]
    lede = failures(report)["lede"]
    assert all(figure in lede for figure in ("1 of 1 attempt ", "$400 a month", "100.0%", "TIMEOUT"))
    html = page_of(report).html
    assert "(no name)" in html and "(no account)" in html


def test_a_short_window_has_dollars_of_the_window(short_report: Report) -> None:
    html = page_of(short_report).html
    assert "$ in the window" in html and "a month" not in html
    lost = short_report["cost"]["lost_usd"]
    assert failures(short_report)["all_causes"].usd == pytest.approx(lost)


def test_gpu_hours_stand_only_where_jobs_held_gpus(report: Report, cpu_report: Report) -> None:
    assert "GPU-hours" in page_of(report).html
    assert "GPU-hours" not in page_of(cpu_report).html


def test_the_sample_s_families_and_causes_come_to_the_same(report: Report) -> None:
    shown = failures(report)
    assert shown["all_families"].usd == pytest.approx(shown["all_causes"].usd)
    assert shown["all_families"].lost_attempts == shown["all_causes"].attempts
    assert sum(row.attempts for row in shown["causes"]) == shown["all_causes"].attempts


def test_hostile_names_stay_text(report: Report) -> None:
    lossy(report)
    report["lost"][1]["cause"] = NAME
    report["families"] = [family(NAME, 1, 1, 200.0, account=NAME, user=NAME)]
    html = page_of(report).html
    assert "<script" not in html
    assert "n" * 60 not in html
    assert html.count("&lt;script") >= 5  # the chart, the table, family, account and user


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("report", "a4"),
        ("report", "letter"),
        ("cpu_report", "letter"),
        ("unmeasured_report", "letter"),
        ("unbundled_report", "letter"),
        ("hostile_report", "letter"),
    ],
)
def test_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    pages = PdfReader(BytesIO(render_pdf(page_of(request.getfixturevalue(name)), paper))).pages
    assert len(pages) == 1


def test_one_page_with_every_end_and_the_longest_names(report: Report) -> None:
    wide = "W" * 72
    ends = "TIMEOUT FAILED PREEMPTED NODE_FAIL REQUEUED OUT_OF_MEMORY BOOT_FAIL DEADLINE".split()
    report["lost"] = [cause(name, 10**6, 1e11) for name in ends]
    report["families"] = [family(wide, 10**6, 10**7, 1e11, account=wide, user=wide) for _ in range(9)]
    report["cost"].update(held_usd=9e11, lost_usd=8e11)
    report["attempts"] = 9 * 10**6
    pages = PdfReader(BytesIO(render_pdf(page_of(report), "letter"))).pages
    assert len(pages) == 1
    assert re.search(r"\d+ others|others", pages[0].extract_text())
