"""The last two pages: what the words mean and where prices come from; what the figures rest on."""

import dataclasses
import re
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from audit.reporting.definition import definition
from audit.reporting.page import Page, render_page
from audit.reporting.pages.evidence import REASON_ROWS, evidence
from audit.reporting.pages.method import PRICE_ROWS, TERMS, method
from audit.reporting.pdf import render_pdf

Report = dict[str, Any]
PAGES = ("method", "evidence")
LABELS = """
    Window, Slice, Attempt, Family, Asked, Need, Installed, Down, Capacity, Held, Idle, Used, Kept, Not measured, Needed,
    Lost, Recoverable, At most, Contended, Freed, Coverage, Sampling error, A month, Never touched, Asks too little
"""
WATCHED = ["Watched", "Gap", "Overhead", "Throttled", "I/O-bound"]  # only where collectors watched


@pytest.fixture(autouse=True)
def fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")


def page_of(report: Report, *pages: str) -> Page:
    return render_page(report, dataclasses.replace(definition(), pages=pages or PAGES))


def pages_in(report: Report, *pages: str, paper: str = "a4") -> list[str]:
    read = PdfReader(BytesIO(render_pdf(page_of(report, *pages), paper))).pages
    return [" ".join(page.extract_text().split()) for page in read]


def hours(unit: str, here: float | None, accounting: float | None) -> Report:
    difference = None if here is None or accounting is None else here - accounting
    return {
        "unit": unit,
        "report_hours": here,
        "accounting_hours": accounting,
        "difference_hours": difference,
        "difference_share": difference / accounting if difference is not None and accounting else None,
    }


def test_every_label_of_the_pages_has_its_line_once(report: Report) -> None:
    words = [term.word for term in TERMS]
    assert sorted(words) == sorted([*(label.strip() for label in LABELS.split(",")), *WATCHED])
    left, right = method(report)["terms"]
    assert [word for word, _ in (*left, *right)] == [word for word in words if word not in WATCHED]


def test_the_columns_are_of_about_one_height(report: Report, unbundled_report: Report) -> None:
    for made in (report, unbundled_report):
        left, right = (sum(len(meaning) for _, meaning in column) for column in method(made)["terms"])
        assert 0.7 < left / right < 1.4


def test_a_definition_holds_for_the_way_prices_were_made(report: Report, unbundled_report: Report) -> None:
    by_node, by_resource = (
        {word: meaning for column in method(made)["terms"] for word, meaning in column}
        for made in (report, unbundled_report)
    )
    different = {word for word in by_node if by_node[word] != by_resource[word]}
    assert different == {"Installed", "Down", "Capacity", "Held", "Idle", "Used", "Recoverable"}


def test_prices_with_their_range_and_source(report: Report) -> None:
    listed = {
        "node_class": "8xH100",
        "usd_per_hour": 41.76,
        "low_usd_per_hour": 10.32,
        "high_usd_per_hour": 93.404,
        "providers": 2,
        "provider_names": ["aws", "oci"],
        "as_of": None,
        "basis": "list",
        "list_usd_per_hour": 41.76,
        "source": "8 x the median",
        "nodes": 5,
    }
    own = {**listed, "node_class": "cpu-64c", "low_usd_per_hour": None, "high_usd_per_hour": None, "providers": 0}
    own |= {"basis": "contract", "provider_names": [], "as_of": "2026-01-01", "source": "prices.toml"}
    report["prices"] = [listed, own]
    first, second = method(report)["prices"]
    assert (first.usd_per_hour, first.low, first.high, first.source) == (41.76, 10.32, 93.404, "2 providers: aws, oci")
    assert (second.low, second.high, second.source) == (None, None, "prices.toml, 2026-01-01; list price 41.76")
    page = pages_in(report, "method")[0]
    assert "8xH100 5 41.76 10.32 to 93.40 2 providers: aws, oci" in page
    assert "cpu-64c 5 41.76 no range prices.toml" in page


def test_prices_beyond_the_limit_are_counted(report: Report) -> None:
    report["prices"] = [{**report["prices"][0], "node_class": f"c{n}"} for n in range(20)]
    shown = method(report)
    assert (len(shown["prices"]), shown["more_prices"]) == (PRICE_ROWS - 1, 15)


@pytest.mark.parametrize(
    ("here", "accounting", "share", "remark"),
    [
        (1000.0, 1000.0, 0.0, "agrees"),
        (999.5, 1000.0, -0.0005, "agrees"),
        (990.0, 1000.0, -0.01, "over the size of their nodes"),
        (0.0, 0.0, None, "none held"),
        (1000.0, None, None, "the slice is a part of the cluster, the accounting counts attempts whole"),
        (None, None, None, "no allocation states it"),
    ],
)
def test_hours_beside_the_accounting_s(
    report: Report, *, here: float | None, accounting: float | None, share: float | None, remark: str
) -> None:
    report["reconciliation"] = [hours("core-hours", here, accounting)]
    report["reasons"] = {"hours.held": "over the size of their nodes"}
    row = evidence(report)["agreement"][0]
    assert row.share == (None if share is None else pytest.approx(share))
    assert row.remark == remark
    html = page_of(report, "evidence").html
    assert ("no basis" in html) == (share is None)
    assert ('<td class="n"><span class="unmeasured">not measured</span></td>' in html) == (here is None)


def test_hours_are_shown_to_the_hundredth_of_a_percent(report: Report) -> None:
    report["reconciliation"] = [hours("core-hours", 990_000.0, 1_000_000.0)]
    assert "core-hours 990,000 1,000,000 −10,000 −1.00%" in pages_in(report, "evidence")[0]


def test_each_file_has_its_hash_in_full_and_the_totals_count_them_all(report: Report) -> None:
    file = report["evidence"][0]
    report["evidence"] = [
        {**file, "name": f"sacct-{n}.txt", "sha256": f"{n:064x}", "records": 10, "attempts": 4, "rejects": 1}
        for n in range(50)
    ]
    shown = evidence(report)["evidence"]
    page = pages_in(report, "evidence")[0]
    assert len(shown.files) + shown.more == 50 and 15 < len(shown.files) < 30
    assert f"{0:064x}" in page and f"{1:064x}" in page
    assert f"50 files 500 200 50 {shown.more} more files in report.json" in page


def test_the_report_can_be_made_again_from_what_the_page_says(report: Report) -> None:
    page = pages_in(report, "evidence")[0]
    # 1767225600 is the first second of 2026.
    assert "SOURCE_DATE_EPOCH=$(date -d 2026-01-01T00:00:00Z +%s) audit report" in page
    assert f"audit {report['version']}" in page


def test_a_reason_is_given_once_for_all_the_places_it_holds_for(report: Report) -> None:
    report["reasons"] = dict.fromkeys(("cost.down_usd", "cost.idle_usd", "hours.down"), "no node states")
    report["reasons"]["hours.held"] = "held too much"
    first, second = evidence(report)["reasons"]
    assert (first.places, first.why) == (("hours.held",), "held too much")  # what bends the figures comes first
    assert (second.places, second.more, second.why) == (("cost.down_usd", "cost.idle_usd"), 1, "no node states")


def test_no_reason_no_table(report: Report) -> None:
    report["reasons"] = {}
    assert evidence(report)["reasons"] == []
    assert 'class="facts reasons"' not in page_of(report).html


def test_the_more_reasons_the_fewer_files(report: Report) -> None:
    report["evidence"] = [report["evidence"][0]] * 50
    report["reasons"] = {}
    many = evidence(report)
    report["reasons"] = {f"cost.a_long_name_of_a_figure_{n}": f"reason {n} " + "of many words " * 12 for n in range(30)}
    few = evidence(report)
    assert len(few["reasons"]) == REASON_ROWS - 1
    assert few["more_reasons"] == 30 - (REASON_ROWS - 1)
    assert len(few["evidence"].files) < len(many["evidence"].files)
    assert len(pages_in(report, "evidence", paper="letter")) == 1


def test_hostile_names_stay_text(hostile_report: Report) -> None:
    html = page_of(hostile_report).html
    assert "<script" not in html and "<img" not in html
    assert "n" * 60 not in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("report", "a4"),
        ("report", "letter"),
        ("cpu_report", "letter"),
        ("unmeasured_report", "letter"),
        ("unbundled_report", "letter"),
        ("short_report", "letter"),
        ("hostile_report", "letter"),
    ],
)
def test_one_page_each(name: str, paper: str, request: pytest.FixtureRequest) -> None:
    assert len(pages_in(request.getfixturevalue(name), paper=paper)) == 2


def test_one_page_each_with_the_longest_names(report: Report) -> None:
    wide = "W" * 72
    names = "aws azure do gcp hyperbolic hyperstack lambda nebius oci paperspace runpod verda".split()
    price = {**report["prices"][0], "node_class": wide, "provider_names": names, "providers": 12, "as_of": "2026-07-01"}
    report["prices"] = [price] * 39 + [price | {"basis": "owned"}]
    report["evidence"] = [{**report["evidence"][0], "name": wide}] * 50
    report["reconciliation"] = [hours(unit, 9e11, None) for unit in ("core-hours", "GPU-hours", "memory GiB-hours")]
    assert len(pages_in(report, paper="letter")) == 2
