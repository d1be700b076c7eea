"""The page on the measurement window, and what other pages say of it: nothing unmeasured as a number, always one page."""

import dataclasses
import re
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.definition import definition
from audit.reporting.page import Page, render_page
from audit.reporting.pages.evidence import evidence
from audit.reporting.pages.gpus import gpus
from audit.reporting.pages.window import END, LEFT, NODE_ROWS, duration, place, watched, window
from audit.reporting.pdf import render_pdf
from audit.reporting.summary import text_summary
from tests.reporting.conftest import HOSTILE

Report = dict[str, Any]
START = datetime(2026, 5, 1, tzinfo=UTC)
COST = {"cpu_share": 0.0002, "rss_bytes_max": 15 << 20, "written_bytes_per_day": 3e6, "missed": 4, "late_max_s": 1.5}


def moment(hour: float) -> str:
    return f"{START + timedelta(hours=hour):%Y-%m-%dT%H:%M:%SZ}"


def node(name: str, *gaps: tuple[float, float, str]) -> Report:
    """A node of a window of 100 hours, not watched in these hours for these reasons."""
    lost = sum(last - first for first, last, _ in gaps)
    longest = max(gaps, key=lambda gap: gap[1] - gap[0], default=None)
    return {
        "node": name,
        "watched_hours": 100.0 - lost,
        "window_hours": 100.0,
        "coverage": 1 - lost / 100,
        "gaps": len(gaps),
        "longest_gap_s": None if longest is None else (longest[1] - longest[0]) * 3600,
        "gap_reason": None if longest is None else longest[2],
        "gap_spans": [{"from": moment(first), "to": moment(last), "reason": why} for first, last, why in gaps],
        **COST,
    }


def with_window(report: Report, *nodes: Report, **changed: Any) -> Report:
    """The report with what collectors saw of these nodes."""
    report["window"].update({"from": moment(0), "to": moment(100), "hours": 100.0})
    report["timezone"] = "UTC"
    hours = sum(row["watched_hours"] for row in nodes)
    found = {
        "nodes": len(nodes),
        "watched_nodes": sum(1 for row in nodes if row["watched_hours"]),
        "watched_hours": hours,
        "window_hours": 100.0 * len(nodes),
        "coverage": hours / (100.0 * len(nodes)),
        "gaps": sum(row["gaps"] for row in nodes),
        "clock_steps": 0,
        "clock_nodes": 0,
        "overhead": {
            **{
                key: COST[key]
                for key in ("cpu_share", "rss_bytes_max", "written_bytes_per_day", "missed", "late_max_s")
            },
            "nodes": len(nodes),
            "worst_cpu_share": 0.0005,
            "worst_node": nodes[0]["node"],
            "worst_written_bytes_per_day": 4e6,
        },
        "by_node": sorted(nodes, key=lambda row: row["coverage"]),
        "unattributed": [],
        "gpus": None,
        "memory": {
            **dict.fromkeys(("cgroup_p50_bytes", "accounting_p50_bytes", "lower_p50_share")),
            **dict.fromkeys(("attempts", "only_cgroup_attempts", "missed_attempts"), 0),
        },
    }
    report["telemetry"] = {**found, **changed}
    return report


def seen_gpus(**changed: Any) -> Report:
    found = {"gpus": 4, "watched_gpu_hours": 400.0, "mig_gpus": 1, "mig_gpu_hours": 100.0, "shared_gpu_hours": 0.0}
    found |= {"throttled_gpu_hours": 20.0, "throttle_measured_gpu_hours": 400.0, "touched_gpu_hours": 200.0}
    return found | {"io_bound_gpu_hours": 30.0, "io_measured_gpu_hours": 150.0} | changed


def kind(name: str) -> Report:
    return {"kind": name, "nodes": 1, "intervals": 60, "hours": 1.0}


def page_of(report: Report, *pages: str) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=pages))


def pages_in(report: Report, paper: str, *pages: str) -> int:
    return len(PdfReader(BytesIO(render_pdf(page_of(report, *pages), paper))).pages)


def words(report: Report, *pages: str) -> str:
    text = re.sub(r"<style>.*?</style>", "", page_of(report, *pages).html, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def test_without_collectors_there_is_no_page_and_page_one_says_nothing_of_them(report: Report) -> None:
    assert window(report) is None
    assert watched(report) is None
    assert "Collectors" not in words(report, "answer")


def test_the_least_watched_node_comes_first_with_its_numbers(report: Report) -> None:
    shown = window(
        with_window(report, node("n1", (0, 0.5, "late")), node("n2", (10, 30, "reboot"), (50, 55, "killed")))
    )
    assert shown is not None
    told = [(row.name, row.coverage, row.gaps, row.longest) for row in shown["picture"].rows]
    assert told == [("n2", "75.0%", "2", "20.0 h, reboot"), ("n1", "99.5%", "1", "30 min, node too busy")]


def test_a_gap_is_drawn_where_it_lies_in_the_window(report: Report) -> None:
    shown = window(with_window(report, node("n1", (25, 50, "reboot"))))
    assert shown is not None
    length = END - LEFT
    assert shown["picture"].rows[0].unwatched == ((pytest.approx(LEFT + length / 4), pytest.approx(length / 4)),)


def test_the_shortest_gap_is_still_seen(report: Report) -> None:
    shown = window(with_window(report, node("n1", (25, 25.01, "killed"))))
    assert shown is not None
    assert shown["picture"].rows[0].unwatched[0][1] >= 0.5


def test_nodes_beyond_the_room_are_summed_up_in_one_line(report: Report) -> None:
    nodes = [node(f"n{number}", (0, 50 - number / 4, "reboot")) for number in range(100)]
    shown = window(with_window(report, *nodes))
    assert shown is not None
    picture = shown["picture"]
    assert len(picture.rows) == NODE_ROWS - 1
    assert picture.rest.startswith(f"{100 - NODE_ROWS + 1} other nodes, watched ")


@pytest.mark.parametrize("hours", [0.5, 3, 24, 47, 49, 100, 336, 31 * 24, 366 * 24])
def test_the_words_of_the_scale_do_not_touch(report: Report, hours: float) -> None:
    changed = with_window(report, node("n1"))
    changed["window"].update({"to": moment(hours), "hours": hours})
    shown = window(changed)
    assert shown is not None
    places = [x for x, _ in shown["picture"].ticks]
    assert all(right - left > 24 for left, right in pairwise(places))
    assert all(LEFT <= x <= END for x in places)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "3 s"), (60, "1 min"), (3599, "60 min"), (3600, "1.0 h"), (172799, "48.0 h"), (172800, "2.0 days")],
)
def test_a_length_of_time_is_told_in_one_unit(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_what_lies_outside_the_window_is_drawn_at_its_edge() -> None:
    end = START + timedelta(hours=10)
    assert place(START - timedelta(hours=1), START, end) == LEFT
    assert place(end + timedelta(hours=1), START, end) == END


def test_cost_that_was_not_measured_keeps_its_row_and_is_no_number(report: Report) -> None:
    changed = with_window(report, node("n1"))
    cost = changed["telemetry"]["overhead"]
    cost.update(dict.fromkeys((key for key in cost if key != "nodes"), None))
    text = words(changed, "window")
    assert text.count("not measured") >= 5
    assert "0.00%" not in text
    assert "not measured" in (watched(changed) or "")


def test_page_one_says_what_was_watched_and_what_that_took(report: Report) -> None:
    changed = with_window(report, node("n1", (0, 10, "reboot")), node("n2"))
    assert "95.0%" in (watched(changed) or "")
    text = words(changed, "answer")
    assert "0.02% of one core" in text
    assert "0.05%" in text


def test_what_is_nobodys_is_cut_and_summed(report: Report) -> None:
    kinds = [kind(f"kind {number}") for number in range(7)]
    shown = window(with_window(report, node("n1"), unattributed=kinds))
    assert shown is not None
    *named, rest = shown["kinds"]
    assert (len(named), rest.members, rest.intervals, rest.hours) == (3, 4, 240, 4.0)


@pytest.mark.parametrize(("lower", "said"), [(0.1, "lower by 10.0%"), (-0.2, "higher by 20.0%"), (0.0, "the same")])
def test_accountings_memory_is_told_beside_the_cgroups(report: Report, lower: float, said: str) -> None:
    memory = {"attempts": 200, "only_cgroup_attempts": 3, "missed_attempts": 50, "lower_p50_share": lower}
    memory |= {"cgroup_p50_bytes": 4 << 30, "accounting_p50_bytes": 3 << 30}
    text = words(with_window(report, node("n1"), memory=memory), "window")
    assert said in text
    assert "50 of 200" in text


def test_where_no_attempt_has_both_peaks_the_page_does_not_compare(report: Report) -> None:
    assert "accounting alone" not in words(with_window(report, node("n1")), "window")


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_the_fullest_page_is_one_page(report: Report, paper: str) -> None:
    nodes = [node("w" * 300, *((hour, hour + 1, "x" * 300) for hour in range(40))) for _ in range(200)]
    memory = {"attempts": 20_000, "only_cgroup_attempts": 30_000, "missed_attempts": 5_000, "lower_p50_share": 0.1}
    memory |= {"cgroup_p50_bytes": 4 << 40, "accounting_p50_bytes": 3 << 40}
    kinds = [kind("w" * 200) for _ in range(9)]
    changed = with_window(report, *nodes, unattributed=kinds, memory=memory, clock_steps=9, clock_nodes=9)
    assert pages_in(changed, paper, "window") == 1


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_the_words_of_telemetry_leave_method_and_page_one_one_page_each(
    advised_round_report: Report, paper: str
) -> None:
    changed = with_window(advised_round_report, node("n1"))
    changed["prices"] = [{**changed["prices"][0], "provider_names": ["a provider"] * 12, "providers": 12}] * 9
    assert pages_in(changed, paper, "answer", "method") == 2


def test_names_from_outside_are_shown_and_never_run(report: Report) -> None:
    nodes = [node(name, (0, 50, HOSTILE["tag"])) for name in HOSTILE.values()]
    changed = with_window(report, *nodes, unattributed=[kind(HOSTILE["tag"]), kind(HOSTILE["bidi"])])
    html = page_of(changed, "answer", "window").html
    assert "<script" not in html
    assert "<img" not in html
    assert "\u202e" not in html


def test_gpus_tell_what_slowed_them_down(report: Report) -> None:
    changed = with_window(report, node("n1"), gpus=seen_gpus())
    shown = gpus(changed)
    assert shown is not None
    told = [(row.gpu_hours, row.of_gpu_hours, row.share) for row in shown["waits"]]
    assert told == [(20.0, 400.0, 0.05), (30.0, 150.0, 0.2), (100.0, 400.0, 0.25)]


def test_gpu_waits_that_were_not_measured_are_no_number(report: Report) -> None:
    none = seen_gpus(io_bound_gpu_hours=None, io_measured_gpu_hours=0.0, throttled_gpu_hours=None)
    shown = gpus(with_window(report, node("n1"), gpus=none))
    assert shown is not None
    assert [(row.gpu_hours, row.share) for row in shown["waits"]][:2] == [(None, None), (None, None)]
    assert words(report, "gpus").count("not measured") >= 2


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_the_page_on_gpus_stays_one_page(report: Report, paper: str) -> None:
    changed = with_window(report, node("n1"), gpus=seen_gpus(shared_gpu_hours=5.0))
    found = changed["gpus"]
    found["never_touched"] = [{**found["never_touched"][0], "partition": f"p{number}"} for number in range(12)]
    assert pages_in(changed, paper, "gpus") == 1


def roll_up(report: Report, **changed: Any) -> Report:
    row = {"unit": "core-hours", "report_hours": 99.0, "sreport_hours": 100.0, "difference_share": -0.01}
    row |= {"report_down_hours": None, "sreport_down_hours": 7.0, **changed}
    report["sreport"] = {"from": moment(0), "to": moment(24), "hours": 24.0, "units": [row]}
    return report


def test_slurms_roll_up_stands_on_the_page_on_evidence(report: Report) -> None:
    text = words(roll_up(report), "evidence")
    assert "sreport" in text
    assert "−1.00%" in text
    assert pages_in(report, "letter", "evidence") == 1


def test_a_roll_up_that_cannot_be_compared_says_why_only_where_one_was_given(report: Report) -> None:
    report["reasons"]["sreport"] = "no span of it lies whole in the window"
    assert evidence(report)["no_roll_up"] is None
    report["evidence"].append({**report["evidence"][0], "kind": "sreport utilization"})
    assert "no span of it" in words(report, "evidence")


def test_the_terminal_says_it_in_one_line(report: Report) -> None:
    before = text_summary(report).splitlines()
    after = text_summary(with_window(report, node("n1", (0, 10, "reboot")), node("n2"))).splitlines()
    (line,) = set(after) - set(before) - {after[0]}
    assert "95.0%" in line and "0.02%" in line and "0.05%" in line
