"""How numbers, names and times read in a report, and what a null becomes in words."""

import subprocess
import sys
from typing import Any

import pytest

from audit.reporting import text_summary
from audit.reporting.hostile import visible
from audit.reporting.numerals import amount, axis_dollars, cents, dollars_prose, percent, rate, whole
from audit.reporting.period import period
from audit.reporting.tables import evidence
from audit.reporting.wording import window_hours


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


@pytest.mark.parametrize(("usd", "text"), [(6054.3249, "6,054.32"), (0.0, "0.00"), (-3.5, "−3.50")])
def test_what_is_to_be_checked_has_cents(usd: float, text: str) -> None:
    assert cents(usd) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4.32, "4.3"), (0.0, "0"), (0.01, "<0.1"), (99.94, "99.9"), (99.96, "100"), (1262.6, "1,263")]
)
def test_mean_counts_have_a_decimal_below_a_hundred(value: float, text: str) -> None:
    assert amount(value) == text


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
    report: dict[str, Any], *, zone: str, start: str, end: str, local: str | None, days: str
) -> None:
    report.update(timezone=zone, window={**report["window"], "from": start, "to": end})
    said = period(report)
    assert (said.local, said.days) == (local, days)
    assert said.utc.startswith(start[:10]) and said.utc.endswith("UTC")


@pytest.mark.parametrize(
    "name",
    [
        "report",
        "cpu_report",
        "unmeasured_report",
        "unbundled_report",
        "short_report",
        "hostile_report",
        "advised_report",
    ],
)
def test_the_terminal_summary_is_short_and_printable(name: str, request: pytest.FixtureRequest) -> None:
    lines = text_summary(request.getfixturevalue(name)).split("\n")
    assert len(lines) <= 14
    assert all(line.isprintable() for line in lines)


def test_the_terminal_summary_says_the_headline_first(round_report: dict[str, Any]) -> None:
    _, answer, expected, *rows = text_summary(round_report).split("\n")
    # a month is two windows: 80, 60 to 100; of 800 held
    assert answer.startswith("At most $160 a month, 10.0% of what jobs held")
    assert "$120 a month to $200 a month" in answer
    assert expected.startswith("Expected: no model")
    assert [row.split("$", 1)[1].split(",")[0] for row in rows[:1]] == ["2"]  # 2,000 installed
    assert "held by jobs    $1,600 a month, 83.3% of the capacity" in rows[3]


def test_the_terminal_summary_leads_with_what_is_expected(advised_round_report: dict[str, Any]) -> None:
    _, answer, reach, kills, *rest = text_summary(advised_round_report).split("\n")
    # a month is two windows: 50, 40 to 58; of 800 held; low 30, high 80; 60 less 10
    assert answer.startswith("Expected: $100 a month, 6.2% of what jobs held")
    assert "$80.0 a month to $116 a month" in answer
    assert "low $60.0 a month, high $160 a month" in reach and "too bold" not in "".join(rest)
    assert "3 of 120 attempts at p99: $120 a month gross, $20.0 a month reruns" in kills
    advised_round_report["recoverable"].update(low_usd=None, low_kills=None)
    advised_round_report["reasons"]["recoverable.low_usd"] = "no telemetry"
    assert "low not known (no telemetry)" in text_summary(advised_round_report)
    advised_round_report["recoverable"]["policy_too_bold"] = True
    advised_round_report["recoverable"]["sensitivity"][-1]["net_usd"] = 53.0
    bold = text_summary(advised_round_report)
    assert "too bold: p99.5 would have won back $106 a month instead of $100 a month" in bold
    assert len(bold.split("\n")) <= 14


def test_the_terminal_summary_names_what_was_not_measured(
    unmeasured_report: dict[str, Any], unbundled_report: dict[str, Any]
) -> None:
    text = text_summary(unmeasured_report)
    assert "No headline" in text and "At most $" not in text
    assert "Memory not measured; CPU cores not measured; GPUs not measured" in text
    assert "installed" not in text_summary(unbundled_report)
    unmeasured_report["cost"]["down_usd"] = None
    assert "down            not measured" in text_summary(unmeasured_report)


def test_the_terminal_summary_marks_a_generated_sample(report: dict[str, Any]) -> None:
    assert text_summary(report).startswith("GENERATED SAMPLE, ")
    assert "GENERATED" not in text_summary(report | {"generated_sample": False})


@pytest.mark.parametrize(
    ("hours", "text"),
    [(336.0, "336 hours"), (335.5, "335.5 hours"), (1.0, "1 hour"), (0.25, "15 minutes"), (1 / 60, "1 minute")],
)
def test_the_window_s_length_has_its_unit(report: dict[str, Any], hours: float, text: str) -> None:
    report["window"]["hours"] = hours
    assert window_hours(report) == text
    assert f", {text}, " in text_summary(report)


def test_evidence_totals_count_the_files_that_are_not_shown(report: dict[str, Any]) -> None:
    table = evidence(report, 12)
    files = report["evidence"]
    assert (len(table.files), table.more) == (11, len(files) - 11)
    assert table.totals["records"] == sum(file["records"] for file in files)


def test_loading_the_room_loads_no_renderer() -> None:
    code = "import sys, audit.reporting; print(sorted({'jinja2', 'weasyprint'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
