"""The report's HTML: escaped, complete in itself, and with no null that reads as a number."""

import copy
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from audit.errors import AuditError
from audit.reporting import text_summary
from audit.reporting.cascade import cascade
from audit.reporting.definition import definition
from audit.reporting.page import render_page


def page(report: dict[str, Any]) -> str:
    return render_page(report, definition()).html


def words(html: str) -> str:
    """What a reader sees: the text without marks, white space collapsed."""
    seen: list[str] = []

    class Reader(HTMLParser):
        hidden = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.hidden = tag == "style"

        def handle_endtag(self, tag: str) -> None:
            self.hidden = False

        def handle_data(self, data: str) -> None:
            if not self.hidden:
                seen.append(data)

    Reader().feed(html)
    return " ".join(" ".join(seen).split())


def nulls(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every number that the figures may not know."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from nulls(inner, (*path, index))
    elif isinstance(value, float):
        yield path


def without(report: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    holder = changed = copy.deepcopy(report)
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = None
    return changed


def test_any_single_figure_may_be_null(gpu_report: dict[str, Any]) -> None:
    paths = [path for path in nulls(gpu_report) if path != ("window", "hours")]
    assert len(paths) > 40
    for path in paths:
        changed = without(gpu_report, path)
        assert "None" not in words(page(changed)), path
        assert "None" not in text_summary(changed), path


def test_an_unmeasured_value_is_boxed_words_and_a_measured_zero_is_0(gpu_report: dict[str, Any]) -> None:
    gpu_report["by_partition"][0]["gpu_hours"] = None
    html = page(gpu_report)
    row = re.search(r"<tr>\s*<th[^>]*>gpu-h100</th>(.*?)</tr>", html, re.DOTALL)
    zero = re.search(r"<tr>\s*<th[^>]*>cpu-highmem</th>(.*?)</tr>", html, re.DOTALL)
    assert row and row[1].count('<span class="unmeasured">not measured</span>') == 1
    assert zero and '<td class="n">0</td>' in zero[1]
    assert "unmeasured" not in zero[1]


def test_the_chart_draws_no_bar_for_what_is_not_known(gpu_report: dict[str, Any], cpu_report: dict[str, Any]) -> None:
    gpu_report["cost"].update(down_usd=None, capacity_usd=None, idle_usd=None)
    rows = {row.label: row for row in cascade(gpu_report).rows}
    assert rows["Nodes down"].width is None
    # idle and down cannot be told apart: 253,166 − 205,780
    assert rows["Not held: idle or down"].usd == pytest.approx(47_386)
    assert "Nodes down: not measured" in cascade(gpu_report).alt
    assert [row.label for row in cascade(cpu_report).rows] == [
        "Held by jobs",
        "Held, use measured",
        "Held, not measured",
        "Lost to failed attempts",
    ]


def test_the_parts_of_what_was_held_add_up_and_share_one_scale(gpu_report: dict[str, Any]) -> None:
    chart = cascade(gpu_report)
    rows = {row.label: row for row in chart.rows}
    # 205,780 held − 10,536 lost − 10,293 not measured
    assert rows["Held, use measured"].usd == pytest.approx(184_951)
    inside = ["Held, use measured", "Held, not measured", "Lost to failed attempts"]
    assert sum(rows[label].width for label in inside) == pytest.approx(rows["Held by jobs"].width)
    assert rows["Installed"].width == pytest.approx(chart.plot_end - chart.left)
    assert 3 <= len(chart.ticks) - 1 <= 5


def test_a_short_window_has_no_month(gpu_report: dict[str, Any]) -> None:
    for key in gpu_report["cost"]:
        if key.endswith("_per_month"):
            gpu_report["cost"][key] = None
    seen = words(page(gpu_report))
    assert "under 7 days in the window" in seen
    assert "$ a month" not in seen


def test_a_generated_sample_says_so_in_the_header_and_the_masthead(
    gpu_report: dict[str, Any], cpu_report: dict[str, Any]
) -> None:
    html = page(gpu_report)
    assert html.count("Generated sample, no real cluster") == 2  # first page, later pages
    assert '<span class="sample">Generated sample</span>' in html
    assert "Generated sample" not in page(cpu_report)


def test_hostile_names_stay_text(hostile_report: dict[str, Any]) -> None:
    html = page(hostile_report)
    assert "<script" not in html and "<img" not in html
    assert html.count("</style>") == 1
    seen = words(html)
    assert "<img src=file:///etc/passwd>" in seen
    assert "{{ 7 * 7 }}" in seen
    assert "abc‹U+202E›gnp.exe" in seen
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", html)
    assert "n" * 100 not in html


def test_the_page_needs_no_other_file(gpu_report: dict[str, Any]) -> None:
    html = page(gpu_report)
    assert set(re.findall(r'url\("?([a-z]+:)', html)) == {"data:"}
    assert not re.search(r"(src|href)=", html)


def test_a_date_that_is_no_number_is_an_error_with_a_remedy(
    gpu_report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(AuditError, match="SOURCE_DATE_EPOCH is no number of seconds: yesterday; unset it"):
        page(gpu_report)


def test_a_reason_is_given_once_for_all_the_values_it_holds_for(cpu_report: dict[str, Any]) -> None:
    seen = words(page(cpu_report))
    assert "cost.capacity_usd, cost.idle_usd Node sizes unknown: no node inventory" in seen
