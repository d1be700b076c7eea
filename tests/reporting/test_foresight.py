"""The pages on foresight and advice: what was promised and kept, beside which rivals, and what caution costs."""

import dataclasses
import re
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.back_test import RIVALS, rivalry, targets
from audit.reporting.coverage_plot import SIDE, coverage_plot, place
from audit.reporting.definition import definition
from audit.reporting.dollars import dollars
from audit.reporting.page import Page, render_page
from audit.reporting.pages.advice import STEPS, TERMS, advice
from audit.reporting.pages.foresight import foresight
from audit.reporting.pdf import render_pdf
from audit.reporting.sensitivity import LEFT, PLOT_END, sensitivity

Report = dict[str, Any]
PAGES = ("foresight", "advice")


def page_of(report: Report, *pages: str) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=pages or PAGES))


def words(report: Report, *pages: str) -> str:
    text = re.sub(r"<style>.*?</style>", "", page_of(report, *pages).html, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def only_target(report: Report) -> Report:
    (target,) = report["sizing"]["targets"]
    return target


def test_without_a_model_there_is_no_page(report: Report) -> None:
    assert foresight(report) is None and advice(report) is None
    assert foresight(report | {"sizing": None}) is None
    assert foresight(report | {"sizing": {"schema": "audit-backtest/1", "targets": []}}) is None


def test_a_replay_without_a_back_test_says_that_none_is_there(advised_round_report: Report) -> None:
    advised_round_report["sizing"] = None
    assert foresight(advised_round_report) is None
    assert "no back-test" in words(advised_round_report, "advice")


def test_a_back_test_without_a_replay_shows_no_dollars(round_report: Report, advised_report: Report) -> None:
    round_report["sizing"] = advised_report["sizing"]
    shown = advice(round_report)
    assert shown is not None and shown["sensitivity"] is None and shown["resources"] == []
    assert "$" not in shown["lede"]


def test_a_target_has_its_coverage_its_bursts_and_its_users(advised_round_report: Report) -> None:
    (row,) = targets(advised_round_report["sizing"])
    assert (row.name, row.scored, row.bursts, row.abstained) == ("Memory", 9000, 700, 0.1)
    assert [one.share for one in row.coverage] == [0.52, 0.903, 0.946, 0.987]
    assert (row.coverage[-1].low, row.coverage[-1].high) == (0.98, 0.993)
    assert (row.near, row.users) == (8, 10)  # 0.8 of 10 users with 500 attempts
    assert row.worst == pytest.approx(0.926)  # at 95 %


def test_what_a_back_test_does_not_know_is_no_number(advised_round_report: Report) -> None:
    target = only_target(advised_round_report)
    for row in target["coverage"]:
        row.update(realised=None, low=None, high=None)
    target["per_user"].update(users=0, within_2_points=[{"level": 0.95, "share": None}])
    target["worst_1000"] = [{"level": 0.95, "realised": None, "from": None, "to": None}]
    target["abstained"]["share"] = None
    for row in target["methods"]:
        row.update(over_request=None, waste_share=None)
    target["equal_kills"][0]["model_to_fixed"] = None
    (row,) = targets(advised_round_report["sizing"])
    assert (row.near, row.worst, row.abstained, {one.share for one in row.coverage}) == (None, None, None, {None})
    plot = coverage_plot([row])
    assert plot is not None and plot.panels[0].points == ()
    seen = words(advised_round_report)
    assert seen.count("too few") >= 7 and "None" not in seen and "the model wastes" not in seen


def test_the_plot_has_one_scale_for_both_axes_and_counts_nines() -> None:
    # as far apart: 90 and 99 %, 99 and 99.9 %, which is the end
    assert place(0.99) - place(0.9) == pytest.approx(place(0.999) - place(0.99))
    assert place(0.999) == place(1.0) == SIDE
    assert 0 <= place(0.0) <= place(0.5) < place(0.9)


def test_a_point_below_the_diagonal_is_a_promise_not_kept(advised_round_report: Report) -> None:
    plot = coverage_plot(targets(advised_round_report["sizing"]))
    assert plot is not None
    (panel,) = plot.panels
    rises = [point.x - panel.x - (plot.base - point.y) for point in panel.points]
    # 52 of 50, 90.3 of 90, 94.6 of 95, 98.7 of 99 %
    assert [rise > 0 for rise in rises] == [False, False, True, True]
    assert all(point.high < point.y < point.low for point in panel.points if point.low and point.high)
    assert "of 99% promised 98.7%" in panel.alt


def test_the_model_comes_first_then_the_rivals_by_waste(advised_round_report: Report) -> None:
    found = rivalry(advised_round_report["sizing"])
    assert found is not None and found.target == "Memory" and found.more == 0
    model, *rivals = found.rows
    assert model.is_model and model.as_issued is None and model.own is not None
    assert (model.own.killed, model.own.of, model.own.over_request, model.own.waste) == (90, 9000, 1.5, 0.6)
    assert [row.own.waste for row in rivals if row.own] == pytest.approx([1.1, 1.3, 1.5, 3.3])
    assert [row.as_issued.killed for row in rivals if row.as_issued] == [4100, 1300, 900, 0]
    assert "forest" not in {row.name for row in found.rows}  # an expert of the model's own is no rival
    assert found.equal is not None and "18% less" in found.equal  # 0.82 of the best rival's waste
    assert "45 of 4,500" in found.equal  # 1 % of the later half of 9,000


def test_at_equal_kills_too_few_of_them_tell_nothing(advised_round_report: Report) -> None:
    target = only_target(advised_round_report)

    def equal(advised: int) -> str:
        target["methods"][0]["advised"] = advised
        found = rivalry(advised_round_report["sizing"])
        assert found is not None and found.equal is not None
        return found.equal

    # 1 % of half of 6,000 is 30; of 5,998 it is 29
    assert "30 of 3,000" in equal(6000) and "18% less" in equal(6000)
    assert "29 of 2,999" in equal(5998) and "18%" not in equal(5998)
    # 2 % of 2,999 is 59: they tell
    target["equal_kills"].append({**target["equal_kills"][0], "kill_share": 0.02, "level": 0.98, "model_to_fixed": 0.9})
    assert "59 of 2,999" in equal(5998) and "10% less" in equal(5998)


def test_rivals_beyond_the_limit_are_counted(advised_round_report: Report) -> None:
    target = only_target(advised_round_report)
    own = target["methods"][-1]
    target["methods"] += [{**own, "method": f"rule_{number}", "waste_share": 9.0 + number} for number in range(5)]
    found = rivalry(advised_round_report["sizing"])
    assert found is not None and (len(found.rows), found.more) == (1 + RIVALS, 4 + 5 - RIVALS)


def test_memory_is_what_rivals_are_compared_on_else_what_kills(advised_report: Report) -> None:
    tests = advised_report["sizing"]
    for gone, next_one in (("", "Memory"), ("memory", "Walltime"), ("walltime", "GPUs"), ("gpus", "Cores")):
        tests["targets"] = [row for row in tests["targets"] if row["target"] != gone]
        found = rivalry(tests)
        assert found is not None and found.target == next_one


def test_each_quantile_has_its_gross_its_reruns_and_its_kills(advised_round_report: Report) -> None:
    chart = sensitivity(advised_round_report, dollars(advised_round_report))
    assert chart is not None
    # a month is two windows
    assert [(row.name, row.gross, row.reruns, row.net) for row in chart.rows] == [
        ("p90", 140, 180, -40),
        ("p95", 132, 80, 52),
        ("p99", 120, 20, 100),
        ("p99.5", 108, 8, 100),
    ]
    assert [row.is_chosen for row in chart.rows] == [False, False, True, False]
    assert [(row.killed, row.of, row.slowed) for row in chart.rows] == [
        (30, 124, 9),
        (12, 122, 6),
        (3, 120, 4),
        (1, 119, 2),
    ]
    loss, _, chosen, _ = chart.rows
    unit = chosen.gross_bar / 120
    assert chosen.net_bar == pytest.approx((chart.zero, 100 * unit))
    assert loss.net_bar == pytest.approx((chart.zero - 40 * unit, 40 * unit))  # to the left of zero
    assert loss.net_bar[0] >= LEFT and chart.zero + loss.gross_bar <= PLOT_END
    assert "−40" in chart.alt and "30 of 124 attempts" in chart.alt


def test_what_is_expected_of_each_resource_adds_up_and_names_its_kills(advised_report: Report) -> None:
    shown, won = advice(advised_report), advised_report["recoverable"]
    assert shown is not None
    total = shown["total"]
    assert sum(row.expected for row in shown["resources"]) == pytest.approx(total.expected)
    assert total.expected == pytest.approx(advised_report["recoverable"]["expected_usd_per_month"])
    killed = [row.killed for row in shown["resources"]]
    assert max(killed) <= total.killed <= sum(killed)
    of = {row.name: row.of for row in shown["resources"]}
    assert (of["Memory"], of["GPUs"]) == tuple(won["kills"][f"of_{name}"] for name in ("memory", "gpus"))
    assert max(of.values()) <= total.of <= sum(of.values())


def test_advice_on_a_resource_that_loses_is_shown_as_such(advised_report: Report) -> None:
    for usd, times in ((1.0, 0), (-1.0, 1)):
        for row in advised_report["recoverable_by_resource"]:
            row["expected_usd"] = usd if row["resource"] == "memory" else 5.0
        assert words(advised_report, "advice").count("loses at p99") == times


def test_how_advice_is_made_is_five_sentences_and_every_word_has_its_line(advised_round_report: Report) -> None:
    shown = advice(advised_round_report)
    assert shown is not None and shown["steps"] == STEPS and len(STEPS) == 5
    assert [term.word for column in shown["terms"] for term in column] == [term.word for term in TERMS]
    assert len({term.word for term in TERMS}) == len(TERMS)


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_one_page_each(advised_report: Report, paper: str) -> None:
    assert len(PdfReader(BytesIO(render_pdf(page_of(advised_report), paper))).pages) == 2


def test_one_page_each_with_all_there_can_be(advised_report: Report) -> None:
    for target in advised_report["sizing"]["targets"]:
        target.update(scored=99_999_999, bursts=9_999_999)
        target["per_user"].update(users=99_999)
        for row in target["methods"]:
            row.update(kills=9_999_999, advised=99_999_999, over_request=999.0, waste_share=999.0)
            row["method"] = row["method"] if row["role"] == "model" else f"{row['method']}_" + "W" * 80
    for row in advised_report["recoverable"]["sensitivity"]:
        row.update(gross_usd=9e12, reruns_usd=2e13, net_usd=-1.1e13, killed=9_999_999, of=99_999_999, slowed=999_999)
    assert len(PdfReader(BytesIO(render_pdf(page_of(advised_report), "letter"))).pages) == 2


def test_hostile_names_stay_text(advised_round_report: Report) -> None:
    target = only_target(advised_round_report)
    target["target"] = "<script>alert(1)</script>\u202e"
    target["methods"][-1]["method"] = "<img src=x>\x1b"
    html = page_of(advised_round_report).html
    assert "<script" not in html and "<img" not in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)
