"""The report's HTML as a whole: its pages in order, escaped, complete in itself, and honest about a sample."""

import re
from typing import Any

import pytest

from audit.errors import AuditError
from audit.reporting.definition import definition
from audit.reporting.page import render_page

REPORTS = (
    *("report", "cpu_report", "unmeasured_report", "unbundled_report", "short_report", "hostile_report"),
    "advised_report",
)


def page(report: dict[str, Any]) -> str:
    return render_page(report, definition()).html


@pytest.mark.parametrize("name", REPORTS)
def test_the_pages_stand_in_the_definition_s_order(name: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(name)
    has_gpus, has_model = name != "cpu_report", name == "advised_report"
    wanted = [page for page in definition().pages if page != "gpus" or has_gpus]
    wanted = [page for page in wanted if page not in ("foresight", "advice") or has_model]
    wanted = [page for page in wanted if page != "window" or report["telemetry"] is not None]
    assert re.findall(r'<section class="page (\w+)"', page(report)) == wanted


def test_a_generated_sample_says_so_on_every_page_and_in_the_masthead(report: dict[str, Any]) -> None:
    html = page(report)
    said = len(re.findall("Generated sample, no real cluster", html))
    assert said == 2 + html.count("<section")  # the running heads of the first and of later pages; every page's own
    assert '<span class="sample">Generated sample</span>' in html
    assert "Generated sample" not in page(report | {"generated_sample": False})


def test_hostile_names_stay_text(hostile_report: dict[str, Any]) -> None:
    html = page(hostile_report)
    assert "<script" not in html and "<img" not in html
    assert html.count("</style>") == 1
    assert "&lt;img src=file:///etc/passwd&gt;" in html
    assert "{{ 7 * 7 }}" in html
    assert "abc‹U+202E›" in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)
    assert "n" * 100 not in html


def test_the_page_needs_no_other_file(report: dict[str, Any]) -> None:
    html = page(report)
    assert set(re.findall(r'url\("?([a-z]+:)', html)) == {"data:"}
    assert not re.search(r"(src|href)=", html)


def test_a_date_that_is_no_number_is_an_error_with_a_remedy(
    report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(AuditError, match="SOURCE_DATE_EPOCH is no number of seconds: yesterday; unset it"):
        page(report)
