"""Page one: the headline with its error, or why there is none; the cascade; what to do first."""

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.cascade import cascade
from audit.reporting.definition import definition
from audit.reporting.dollars import dollars
from audit.reporting.headline import finding, headline, no_sampling
from audit.reporting.page import Page, render_page
from audit.reporting.pages.answer import answer
from audit.reporting.pdf import render_pdf
from audit.reporting.spread import WIDTH, spread
from audit.reporting.tables import actions
from audit.reporting.tiles import tiles
from audit.reporting.wording import status

Report = dict[str, Any]
REPORTS = (
    *("report", "cpu_report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report"),
    *("advised_report", "advised_round_report"),
)


def page(report: Report) -> Page:
    return render_page(report, replace(definition(), pages=("answer",)))


def words(report: Report) -> str:
    """What a reader sees of the page."""
    text = re.sub(r"<style>.*?</style>", "", page(report).html, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def unmeasured(report: Report) -> Report:
    """The same with no attempt measured."""
    report["recoverable"].update(high_usd=None, high_usd_per_month=None, contended_usd=None, sampling=None, by_class=[])
    report["coverage"].update(usd=0.0, headline_allowed=False, reason="nothing was measured")
    return report


def below_the_floor(report: Report) -> Report:
    report["coverage"].update(usd=0.6, headline_allowed=False, reason="only 60 % was measured")
    return report


@pytest.mark.parametrize(
    ("won", "lost", "share"),
    [
        (80, 160, "At most 10% "),  # 80 / 800; of the lost, 160 / 800
        (80, 0, "At most 10% "),
        (1, 160, "Less than 1% "),
        (0, 160, "Nothing "),
        (800, 0, "At most all "),
    ],
)
def test_the_finding_is_the_share_of_what_was_held(round_report: Report, won: float, lost: float, share: str) -> None:
    round_report["recoverable"]["high_usd"] = won
    round_report["cost"]["lost_usd"] = lost
    assert finding(round_report).startswith(share)
    assert ("lost 20%" in finding(round_report)) == bool(lost)


def test_without_a_headline_the_finding_is_what_was_held(round_report: Report, unbundled_report: Report) -> None:
    # 800 of a capacity of 960 is 83 %; where down time is not known, 80 % of the 1,000 installed
    assert finding(below_the_floor(copy.deepcopy(round_report))).startswith("Jobs held 83% of the capacity")
    round_report["cost"].update(capacity_usd=None, down_usd=None, idle_usd=None)
    assert finding(unmeasured(round_report)).startswith("Jobs held 80% of what is installed")
    unbundled_report["cost"]["held_usd"] = 21_000.0  # × 730 / 336
    assert finding(unmeasured(unbundled_report)).startswith("Jobs held $45,600 a month")


def test_the_figure_stands_with_its_error_its_range_and_what_was_queued_for(round_report: Report) -> None:
    seen = words(round_report)
    # a month is two windows: 80, 60 to 100, 20 contended, 40 to 120 at other prices
    assert "at most $160 a month" in seen
    assert "sampling error $120 to $200" in seen
    assert "contended $40" in seen and "25% of it" in seen
    assert "$80.0 to $240" in seen
    assert "365 hours" in seen and "730" in seen


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        (50, "win back 6% of"),  # 50 / 800
        (1, "win back less than 1% of"),
        (0, "won back nothing"),
        (-20, "cost more in reruns"),
    ],
)
def test_with_a_model_the_finding_is_what_is_expected(advised_round_report: Report, expected: float, says: str) -> None:
    advised_round_report["recoverable"]["expected_usd"] = float(expected)
    assert says in finding(advised_round_report) and "lost 20%" in finding(advised_round_report)


def test_with_a_model_the_page_leads_with_expected_and_its_range(advised_round_report: Report) -> None:
    seen = words(advised_round_report)
    # a month is two windows: 50 of 60 gross less 10, low 30, high 80, 15 contended of the gross, 5 hours at 4 to 16
    assert "$100 expected a month, net" in seen
    assert "low $60.0, high $160, the ceiling" in seen
    assert "$80.0 to $116, 5 to 95%" in seen
    assert "contended $30.0" in seen and "25% of it, before reruns" in seen
    assert "$40.0 to $160" in seen
    assert "killed 3 of 120 attempts" in seen and "$120 gross, less $20.0" in seen
    assert "Slowed: 4 attempts" in seen and "No advice for 20 of 200" in seen and "audit train" not in seen
    assert "would have killed 1 of 60 attempts" in seen  # of low
    assert "Too bold" not in seen and "at most $" not in seen.lower()


def test_a_policy_that_is_too_bold_is_said_and_low_without_telemetry_is_no_number(advised_round_report: Report) -> None:
    won = advised_round_report["recoverable"]
    won.update(low_usd=55.0)  # more than expected, but of other attempts
    assert "Too bold" not in words(advised_round_report)
    won.update(low_usd=30.0, policy_too_bold=True)
    won["sensitivity"][-1]["net_usd"] = 53.0
    assert "p99.5: $106 instead of $100" in words(advised_round_report)
    won.update(low_usd=None, low_kills=None, policy_too_bold=False)
    advised_round_report["reasons"]["recoverable.low_usd"] = "no attempt was watched by telemetry"
    seen = words(advised_round_report)
    assert "no attempt was watched by telemetry" in seen and "low $" not in seen


def test_attempts_that_came_after_the_model_was_trained_are_told_apart(advised_round_report: Report) -> None:
    advised_round_report["recoverable"]["abstained"].update(attempts=20, missing=7)
    seen = words(advised_round_report)
    assert "No advice for 13 of 200 attempts" in seen and "7 came after the model was trained" in seen


def test_advice_that_costs_more_than_it_wins_is_not_drawn_on_a_scale_from_zero(advised_round_report: Report) -> None:
    advised_round_report["recoverable"].update(in_both(advised_round_report, -20.0))
    html, seen = page(advised_round_report).html, words(advised_round_report)
    assert "−$40.0" in seen and 'class="spread"' not in html
    assert not re.search(r'class="figure [^"]*\bwon\b', html)


def test_without_a_model_the_page_says_how_to_get_expected(report: Report) -> None:
    assert "audit train" in words(report)


def test_a_short_window_has_no_month_and_no_sampling_error(short_report: Report) -> None:
    seen = words(short_report)
    assert "a month" not in seen.replace("not scaled to a month", "")
    assert "$ in the window" in seen and "under 7 days observed" in seen


def test_where_nobody_knows_who_was_waiting_contended_is_not_measured(round_report: Report) -> None:
    round_report["recoverable"].update(contended_usd=None, contended_usd_per_month=None)
    html = page(round_report).html
    assert "contended $" not in html
    assert 'queueing for it: <span class="unmeasured">not measured</span>' in html


@pytest.mark.parametrize("without", [unmeasured, below_the_floor])
def test_without_a_headline_there_is_no_figure_in_orange(round_report: Report, without: Any) -> None:
    html, seen = page(without(round_report)).html, words(round_report)
    assert not re.search(r'class="[^"]*\bwon\b', html)
    assert "$1,600 held by jobs a month" in seen
    assert "at most $" not in seen.lower()
    assert round_report["coverage"]["reason"][1:] in seen
    for what in ("Memory", "CPU cores", "GPUs"):
        assert re.search(f'<th scope="row">{what}<span', html), what
    # only failures are left to act on: 120 + 40, two windows a month
    assert "Raise time limits" in seen and "Find why jobs fail" in seen
    assert "Lower the" not in seen and "320" in seen


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "List price"),
        ({"generated_sample": True}, "Generated sample"),
        ({"coverage": {"headline_allowed": False}}, "No headline"),
    ],
)
def test_the_head_of_every_page_says_what_to_make_of_it(round_report: Report, change: Report, says: str) -> None:
    assert status(round_report | {"generated_sample": False} | change).startswith(says)


def test_the_tiles_are_share_hardware_coverage_and_held(round_report: Report) -> None:
    won, freed, coverage, held = tiles(round_report)
    assert (won.figure, won.note) == ("10.0%", "$160 of $1,600 a month")
    assert (freed.figure, freed.note) == ("2.0 GPUs", "The same as 0.5 nodes, or these GPUs and 16.0 cores")
    assert coverage.figure == "92.5%"
    assert (held.figure, held.note) == ("83.3%", "$1,600 of $1,920 a month")


def test_the_tiles_with_a_model_are_of_what_is_expected(advised_round_report: Report) -> None:
    won, freed, *_ = tiles(advised_round_report)
    assert (won.figure, won.note) == ("6.2%", "$100 of $1,600 a month")
    assert (freed.figure, freed.note) == ("1.2 GPUs", "The same as 0.3 nodes, or these GPUs and 10.0 cores")
    assert won.label.endswith("expected") and freed.label.endswith("expected")


def test_a_cluster_without_gpus_frees_nodes(cpu_report: Report) -> None:
    cpu_report["recoverable"].update(freed_nodes=3.24, freed_gpus=0.0, freed_cores=207.0)
    assert (tiles(cpu_report)[1].figure, tiles(cpu_report)[1].note) == ("3.2 nodes", "The same as 207 cores")


def test_a_tile_that_was_not_measured_keeps_its_place(unbundled_report: Report, unmeasured_report: Report) -> None:
    assert tiles(unbundled_report)[1].figure is None
    assert "ode sizes unknown" in tiles(unbundled_report)[1].note
    assert [tile.figure is None for tile in tiles(unmeasured_report)] == [False, False, True, False]


def test_the_cascade_adds_up_on_one_scale(round_report: Report) -> None:
    chart = cascade(round_report, dollars(round_report))
    whole, held, needed, lost, won = chart.rows
    scale = (whole.parts[0].width) / 960
    assert [row.usd for row in chart.rows] == [960, 800, 560, 160, 80]  # 400 + 100 + 60 are needed
    assert [row.shown for row in chart.rows] == [1920, 1600, 1120, 320, 160]
    assert [row.share for row in chart.rows] == pytest.approx([1, 800 / 960, 560 / 960, 160 / 960, 80 / 960])
    assert [part.usd for part in needed.parts] == [400, 100, 60]
    assert [part.usd for part in held.parts] == [800, 160]  # the rest is idle
    assert needed.join == pytest.approx(lost.parts[0].x)
    assert lost.join == pytest.approx(won.parts[0].x)
    assert won.parts[0].width == pytest.approx(80 * scale)
    assert chart.held_edge and won.parts[0].x + won.parts[0].width == pytest.approx(chart.held_edge[0])


def test_the_cascade_adds_up_with_the_ceiling_and_shows_expected_below_it(advised_round_report: Report) -> None:
    *_, lost, ceiling, expected = cascade(advised_round_report, dollars(advised_round_report)).rows
    assert [(row.kind, row.usd) for row in (lost, ceiling, expected)] == [
        ("lost", 160),
        ("ceiling", 80),
        ("recoverable", 50),
    ]
    assert ceiling.parts[0].x == expected.parts[0].x == pytest.approx(lost.parts[0].x + lost.parts[0].width)
    assert expected.parts[0].width == pytest.approx(ceiling.parts[0].width * 50 / 80)
    assert expected.strong and not ceiling.strong


def test_the_cascade_draws_nothing_for_what_is_not_known(round_report: Report, unbundled_report: Report) -> None:
    chart = cascade(unmeasured(copy.deepcopy(round_report)), dollars(round_report))
    assert [(row.label, row.usd) for row in chart.rows[2:]] == [
        ("Not measured", 60),
        ("Lost to failed attempts", 160),
        ("Recoverable", None),
    ]
    assert chart.rows[-1].parts == () and chart.held_edge is None
    assert "Recoverable: not measured" in chart.alt
    round_report["cost"].update(capacity_usd=None, down_usd=None, idle_usd=None)
    blind = cascade(round_report, dollars(round_report))
    # idle and down cannot be told apart: together 1,000 − 800
    assert [(part.name, part.usd) for part in blind.rows[1].parts] == [("", 800), ("idle or down", 200)]
    assert blind.of == "installed"
    held = cascade(unbundled_report, dollars(unbundled_report))
    assert held.of == "held" and held.rows[0].label == "Held by jobs"


def test_the_actions_are_in_order_of_dollars_and_their_sum_is_of_those_shown(round_report: Report) -> None:
    table = actions(round_report, 3, requests=True)
    assert [row.usd for row in table.rows] == [120, 60, 40]
    assert [row.frees for row in table.rows] == [None, "0.4 nodes, 1.5 GPUs", None]
    assert table.rows[1].of == "8 attempts of 1 family"
    assert (table.usd, table.frees, table.more) == (220, "0.4 nodes, 1.5 GPUs", 1)
    assert "440" in words(round_report)


def test_actions_lead_with_what_is_expected_of_them_and_name_whom_they_kill(advised_round_report: Report) -> None:
    table = actions(advised_round_report, 3, requests=True)
    # lost 120, expected 35 of at most 60, lost 40
    assert [(row.usd, row.words, row.high) for row in table.rows] == [
        (120, "at most", None),
        (35, "expected", 60),
        (40, "at most", None),
    ]
    assert (table.usd, table.frees) == (195, "0.3 nodes, 1.1 GPUs")
    # of the attempts advised fewer GPUs, not of hindsight's 8 nor of all 120
    assert table.rows[1].of.startswith("40 attempts ") and "1 of 40 attempts" in table.rows[1].risk_reason
    assert "Frees, gross" in words(advised_round_report)


def test_the_range_mark_reaches_from_low_to_high(advised_round_report: Report) -> None:
    head = headline(advised_round_report)
    assert head is not None
    mark = spread(advised_round_report, head)
    assert mark is not None and mark.bar is not None and mark.reach is not None
    unit = mark.dot / 100
    assert mark.reach == pytest.approx((60 * unit, 160 * unit)) and mark.caps == mark.reach
    assert mark.bar == pytest.approx((80 * unit, 116 * unit)) and mark.tick == pytest.approx(30 * unit)
    advised_round_report["recoverable"]["low_usd"] = None
    blind = spread(advised_round_report, replace(head, low=None))
    assert blind is not None and blind.reach == pytest.approx((100 * unit, 160 * unit)) and len(blind.caps) == 1


def test_the_range_mark_is_to_scale_and_its_labels_stay_within_it(round_report: Report) -> None:
    head = headline(round_report)
    assert head is not None
    mark = spread(round_report, head)
    assert mark is not None and mark.bar is not None and mark.reach is None
    # the scale ends at a round $200 a month or above; 160 is the figure, 120 to 200 its error, 40 contended
    unit = mark.dot / 160
    assert mark.bar == pytest.approx((120 * unit, min(200 * unit, WIDTH - 0.5)), abs=0.01)
    assert mark.tick == pytest.approx(40 * unit)
    labels = [label for label in (mark.label, mark.tick_label, *mark.scale) if label is not None]
    assert all(0 < label.x < WIDTH for label in labels)


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize("name", [*REPORTS, "round_report"])
def test_the_answer_is_one_page(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    pdf = render_pdf(page(request.getfixturevalue(name)), paper)
    assert len(PdfReader(BytesIO(pdf)).pages) == 1


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_the_answer_is_one_page_with_all_that_can_be_said_of_advice(advised_report: Report, paper: str) -> None:
    won = advised_report["recoverable"]
    won["kills"].update(killed=98_765, of=987_654)
    won["low_kills"] = {"killed": 12_345, "of": 456_789}
    won["slowed"].update(slowed=12_345, of=987_654)
    won["abstained"].update(attempts=234_567, missing=123_456, of=1_234_567)
    won["policy_too_bold"] = True
    assert len(PdfReader(BytesIO(render_pdf(page(advised_report), paper))).pages) == 1


@pytest.mark.parametrize(("name", "figure"), [("round_report", "160"), ("advised_round_report", "100")])
def test_twelve_digits_of_dollars_and_a_long_name_still_fit_one_page(
    name: str, figure: str, request: pytest.FixtureRequest
) -> None:
    round_report = request.getfixturevalue(name)
    for rows in (round_report["cost"], round_report["recoverable"], *round_report["actions"]):
        rows.update({key: value * 1e9 for key, value in rows.items() if "_usd" in key and value is not None})
    round_report["recoverable"]["sampling"].update(low_usd=6e10, high_usd=1e11)
    round_report["cluster"] = "W" * 72
    (only,) = PdfReader(BytesIO(render_pdf(page(round_report), "letter"))).pages
    text = only.extract_text()
    assert f"${figure},000,000,000" in text
    assert "1,920,000" in text  # million dollars a month


def test_hostile_names_stay_text(hostile_report: Report) -> None:
    html = page(hostile_report).html
    assert "<script" not in html and "<img" not in html and html.count("</style>") == 1
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)


def in_both(report: Report, usd: float) -> Report:
    """That many dollars expected in the window, and in a month."""
    return {"expected_usd": usd, "expected_usd_per_month": usd * report["window"]["month_factor"]}


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every number that the figures may not know."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(inner, (*path, key))
    elif isinstance(value, float):
        yield path


@pytest.mark.parametrize("name", ["round_report", "advised_round_report"])
def test_any_single_figure_may_be_null(name: str, request: pytest.FixtureRequest) -> None:
    round_report = request.getfixturevalue(name)
    parts = ("cost", "coverage", "hours", "recoverable", "measured")
    paths = [path for part in parts for path in numbers(round_report[part], (part,))]
    assert len(paths) > 40
    whole = ("sampling", "expected_sampling", "sensitivity")  # NULL as a whole only, or empty
    for path in [path for path in paths if path[1] not in whole]:
        changed = copy.deepcopy(round_report)
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = None
        assert "None" not in str(answer(changed)["tiles"]).replace("figure=None", ""), path
        assert "None" not in words(changed), path


def test_a_window_is_called_short_only_where_it_was_observed_for_so_long(round_report: Report) -> None:
    round_report["recoverable"]["sampling"] = None
    assert "7 days" not in no_sampling(round_report)  # 365 hours observed
    round_report["window"]["observed_hours"] = 167.9
    assert "7 days observed" in no_sampling(round_report) and "7 days observed" in words(round_report)


def test_where_all_was_lost_the_page_does_not_speak_of_needs(round_report: Report) -> None:
    round_report["recoverable"].update(high_usd=0.0, high_usd_per_month=0.0)
    round_report["cost"].update(used_usd=0.0, kept_usd=0.0, not_measured_usd=0.0, lost_usd=800.0)
    assert finding(round_report) == "Nothing counts as recoverable: all that jobs held was lost to failed attempts."
    assert words(round_report).count(finding(round_report)) == 1
