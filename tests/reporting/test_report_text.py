"""How numbers, names and times read in a report, and what a null becomes in words."""

import copy
import subprocess
import sys
from typing import Any

import pytest

from audit.reporting import text_summary
from audit.reporting.hostile import visible
from audit.reporting.numerals import axis_dollars, dollars_prose, percent, rate, whole
from audit.reporting.period import period
from audit.reporting.tables import evidence, partitions
from audit.reporting.tiles import tiles
from audit.reporting.wording import finding, lede, no_recoverable_figure


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0"),
        (29_749.4, "$29,700"),
        (1_234_567, "$1,230,000"),
        (999.6, "$1,000"),
        (45.25, "$45.2"),
        (4.526, "$4.53"),
        (0.0341, "$0.0341"),
        (-1_234_567, "−$1,230,000"),
    ],
)
def test_dollars_in_prose_have_three_significant_digits_and_a_true_minus(usd: float, text: str) -> None:
    assert dollars_prose(usd) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(34_214.4, "34,214"), (0, "0"), (0.2, "<1"), (-0.2, ">−1"), (-1_310, "−1,310"), (0.5, "0"), (1.5, "2")],
)
def test_table_cells_are_whole_and_what_is_not_nothing_is_not_0(value: float, text: str) -> None:
    assert whole(value) == text


@pytest.mark.parametrize(
    ("share", "decimals", "text"),
    [
        (0.8128, 1, "81.3%"),
        (0.0, 1, "0.0%"),
        (0.0002, 1, "<0.1%"),
        (0.99999, 1, ">99.9%"),
        (1.0, 1, "100.0%"),
        (0.826, 0, "83%"),
        (0.997, 0, ">99%"),
        (-0.0526, 1, "−5.3%"),
    ],
)
def test_shares_never_round_to_nothing_or_all(share: float, decimals: int, text: str) -> None:
    assert percent(share, decimals) == text


@pytest.mark.parametrize(("usd", "text"), [(9.84, "9.84"), (32.0, "32.00"), (0.0341, "0.0341"), (0.00412, "0.00412")])
def test_hourly_prices(usd: float, text: str) -> None:
    assert rate(usd) == text


@pytest.mark.parametrize(("usd", "text"), [(0, "0"), (500, "$500"), (50_000, "$50k"), (2_500_000, "$2.5M")])
def test_axis_labels(usd: float, text: str) -> None:
    assert axis_dollars(usd) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("gpu-h100", "gpu-h100"),
        ("Größe 数 עברית", "Größe 数 עברית"),
        ("abc\u202egnp.exe", "abc‹U+202E›gnp.exe"),
        ("\u2066x\u2069", "‹U+2066›x‹U+2069›"),
        ("a\nb\tc\x00\x1b[31m", "a‹U+000A›b‹U+0009›c‹U+0000›‹U+001B›[31m"),
        ("a\u200bb\u2028c\ufeff", "a‹U+200B›b‹U+2028›c‹U+FEFF›"),
        ("lone \udc80", "lone ‹U+DC80›"),
        ("e\u0301\u0301\u0301", "e\u0301\u0301‹U+0301›"),
    ],
)
def test_invisible_characters_are_spelled_out_and_plain_text_is_left_alone(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize("text", ["n" * 10_000 + "-END", "\u202e" * 10_000, "x" * 39 + "\u202e"])
def test_long_names_are_cut_in_the_middle_and_never_within_a_spelled_out_character(text: str) -> None:
    seen = visible(text, 40)
    assert len(seen) <= 40
    assert seen.count("‹") == seen.count("›")
    assert "…" in seen
    assert seen.endswith("-END") or "END" not in text


@pytest.mark.parametrize(
    ("zone", "start", "end", "local", "days"),
    [
        (
            "Europe/Berlin",
            "2026-11-01T23:00:00Z",
            "2026-11-15T23:00:00Z",
            "Mon 2 Nov 00:00 to Sun 15 Nov 24:00 2026, Europe/Berlin",
            "2–15 November 2026",
        ),
        ("UTC", "2017-01-01T00:00:00", "2017-01-31T00:00:00", None, "1–30 January 2017"),
        ("no/such zone", "2017-01-01T00:00:00Z", "2017-01-31T06:30:00Z", None, "1–31 January 2017"),
        (
            "../../etc/passwd",
            "2016-12-20T00:00:00Z",
            "2017-01-03T00:00:00Z",
            None,
            "20 December 2016 – 2 January 2017",
        ),
    ],
)
def test_the_window_reads_in_local_time_and_ends_at_24_hours(
    gpu_report: dict[str, Any], *, zone: str, start: str, end: str, local: str | None, days: str
) -> None:
    gpu_report.update(timezone=zone, window={**gpu_report["window"], "from": start, "to": end})
    said = period(gpu_report)
    assert (said.local, said.days) == (local, days)
    assert said.utc.startswith(start[:10]) and said.utc.endswith("UTC")


def test_the_finding_says_what_was_held_and_how_much_of_it_was_measured(gpu_report: dict[str, Any]) -> None:
    # 205,780 / 248,634 = 82.8 %; of the dollars held, 94.8 % were measured
    assert finding(gpu_report) == "Jobs held 83% of the capacity; their use was measured for 95% of that."
    assert lede(gpu_report) == (
        "Of $253,000 installed, $206,000 was held by jobs, $42,900 idle and $4,530 down. "
        "Of what jobs held, $10,500 was lost to failed attempts and for $10,300 the use was not measured."
    )


def test_without_node_states_the_share_is_of_what_is_installed(gpu_report: dict[str, Any]) -> None:
    gpu_report["cost"].update(down_usd=None, capacity_usd=None, idle_usd=None)
    # 205,780 / 253,166 = 81.3 %
    assert finding(gpu_report).startswith("Jobs held 81% of what is installed;")
    assert tiles(gpu_report)[0].label == "of what is installed was held"


def test_unknown_node_sizes_leave_only_what_was_held(cpu_report: dict[str, Any]) -> None:
    assert finding(cpu_report) == ("Jobs held cores and memory worth $19,000; what they used of it was not measured.")
    assert lede(cpu_report).startswith("Node sizes unknown: only what was held is priced.")


def test_tiles_that_were_not_measured_keep_their_place_and_say_why(cpu_report: dict[str, Any]) -> None:
    held, gpu, core, coverage = tiles(cpu_report)
    assert (held.figure, held.note) == (None, "Node sizes unknown: no node inventory in the evidence.")
    assert (gpu.figure, gpu.note) == ("0", "No job held any")
    assert core.figure == "412,004"
    assert (coverage.figure, coverage.note) == (None, "Neither MaxRSS nor TotalCPU is in the accounting.")


def test_a_withheld_headline_gives_its_reason_first(cpu_report: dict[str, Any]) -> None:
    assert no_recoverable_figure(cpu_report).startswith("Coverage is 0 % of held dollars, the floor is 80 %.")


def test_partitions_beyond_the_limit_are_summed_not_dropped(cpu_report: dict[str, Any]) -> None:
    table = partitions(cpu_report, 5)
    # largemem 1800, then debug 900: the rest is skylake 500 + viz 200 + scavenger 85 + test 0.25
    assert [row.partition for row in table.rows] == ["general-compute", "industry", "largemem", "debug", None]
    assert (table.rows[-1].members, table.rows[-1].held_usd, table.rows[-1].attempts) == (4, 785.25, 704)
    assert (table.total.held_usd, table.total.attempts, table.total.share) == (19006.0, 11704, 1.0)


def test_a_sum_with_an_unknown_part_is_unknown(gpu_report: dict[str, Any]) -> None:
    gpu_report["by_partition"][1]["gpu_hours"] = None
    table = partitions(gpu_report, 5)
    assert table.total.gpu_hours is None
    assert table.total.held_usd == 205780.0


def test_evidence_totals_count_the_files_that_are_not_shown(cpu_report: dict[str, Any]) -> None:
    table = evidence(cpu_report, 12)
    assert (len(table.files), table.more, table.totals["records"]) == (11, 19, 11700)


@pytest.mark.parametrize("name", ["gpu_report", "cpu_report", "hostile_report"])
def test_the_terminal_summary_is_short_and_printable(name: str, request: pytest.FixtureRequest) -> None:
    lines = text_summary(request.getfixturevalue(name)).split("\n")
    assert len(lines) <= 12
    assert all(line.isprintable() for line in lines)


def test_the_terminal_summary_names_what_was_not_measured(cpu_report: dict[str, Any]) -> None:
    text = text_summary(cpu_report)
    assert "Memory not measured; CPU cores not measured" in text
    assert "$19,000 ($19,300 a month)" in text  # 19,006 × 730 / 720 = 19,270
    assert "installed" not in text


def test_the_terminal_summary_marks_a_generated_sample(gpu_report: dict[str, Any]) -> None:
    assert text_summary(gpu_report).startswith("GENERATED SAMPLE, ")
    real = copy.deepcopy(gpu_report) | {"generated_sample": False}
    assert "GENERATED" not in text_summary(real)


def test_loading_the_room_loads_no_renderer() -> None:
    code = "import sys, audit.reporting; print(sorted({'jinja2', 'weasyprint'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
