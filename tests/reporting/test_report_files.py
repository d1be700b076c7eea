"""The files that `write_report` leaves: read back as a reader, a program and a second run would."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from audit.errors import AuditError
from audit.reporting import write_report
from audit.reporting.page import Page
from audit.reporting.pdf import render_pdf


@pytest.fixture(autouse=True)
def fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")


def pdf_words(path: Path) -> str:
    return " ".join(" ".join(page.extract_text() for page in PdfReader(path).pages).split())


def structure(node: Any) -> list[dict[str, Any]]:
    """Every element of the tag tree below `node`."""
    found = []
    for child in node.get("/K", []) if isinstance(node.get("/K", []), list) else [node["/K"]]:
        element = child.get_object() if hasattr(child, "get_object") else child
        if isinstance(element, dict):
            found += [element, *structure(element)]
    return found


def test_three_files_and_nothing_else(gpu_report: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    paths = write_report(gpu_report, out)
    assert paths == [out / "report.json", out / "report.html", out / "report.pdf"]
    assert sorted(out.iterdir()) == sorted(paths)
    text = paths[0].read_text()
    assert json.loads(text) == gpu_report
    assert text == json.dumps(gpu_report, sort_keys=True, indent=2) + "\n"


def test_the_pdf_shows_the_figures(gpu_report: dict[str, Any], tmp_path: Path) -> None:
    seen = pdf_words(write_report(gpu_report, tmp_path)[2])
    for figure in (
        "$206,000",
        "82.8%",
        "79,452",
        "1,288,177",
        "94.8%",
        "253,166",
        "10,536",
        "447,082",
        "9.84",
    ):
        assert figure in seen, figure
    for sentence in ("Generated sample", "no figure", "list price", "node mode", "Page 1 of 2"):
        assert sentence in seen, sentence
    assert gpu_report["evidence"][0]["sha256"] in seen


def test_nothing_measured_is_never_shown_as_zero(cpu_report: dict[str, Any], tmp_path: Path) -> None:
    reader = PdfReader(write_report(cpu_report, tmp_path)[2])
    first = " ".join(reader.pages[0].extract_text().split())
    assert first.count("not measured") >= 5
    assert "The accounting has no MaxRSS." in first
    assert "Node sizes unknown: only what was held is priced." in first
    assert not re.search(r"(Memory|CPU cores) 0", first)
    assert "19 more listed in report.json" in pdf_words(tmp_path / "report.pdf")
    assert len(json.loads((tmp_path / "report.json").read_text())["evidence"]) == 30


@pytest.mark.parametrize(("paper", "size_pt"), [("a4", (595.3, 841.9)), ("letter", (612, 792))])
@pytest.mark.parametrize("name", ["gpu_report", "cpu_report"])
def test_two_pages_on_either_paper(
    name: str, paper: str, size_pt: tuple[float, float], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    reader = PdfReader(write_report(request.getfixturevalue(name), tmp_path, paper=paper)[2])
    assert len(reader.pages) == 2
    box = reader.pages[0].mediabox
    assert (float(box.width), float(box.height)) == pytest.approx(size_pt, abs=0.1)
    assert "All partitions" in reader.pages[0].extract_text()


def test_the_pdf_is_tagged_titled_and_in_english(gpu_report: dict[str, Any], tmp_path: Path) -> None:
    reader = PdfReader(write_report(gpu_report, tmp_path)[2])
    root = reader.root_object
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    assert reader.metadata and reader.metadata.title == "Capacity report: sandpiper, 2–15 November 2026"
    assert b"pdfuaid:part" in root["/Metadata"].get_data()
    elements = structure(root["/StructTreeRoot"])
    figures = [element for element in elements if element.get("/S") == "/Figure"]
    headers = [element for element in elements if element.get("/S") == "/TH"]
    assert len(figures) == 1 and "Installed: 253,166 dollars" in figures[0]["/Alt"]
    assert headers and {header["/A"]["/Scope"] for header in headers} == {"/Row", "/Column"}
    assert [element for element in elements if element.get("/S") == "/H1"]


def test_only_the_bundled_fonts_are_in_the_pdf(gpu_report: dict[str, Any], tmp_path: Path) -> None:
    reader = PdfReader(write_report(gpu_report, tmp_path)[2])
    fonts = {
        str(font.get_object()["/BaseFont"])
        for page in reader.pages
        for font in page["/Resources"]["/Font"].values()  # type: ignore[index]
    }
    assert fonts and all(re.search("Source-?(Sans|Serif|Code)", font) for font in fonts), fonts


def test_hostile_names_neither_break_nor_reorder_the_page(hostile_report: dict[str, Any], tmp_path: Path) -> None:
    seen = pdf_words(write_report(hostile_report, tmp_path)[2]).replace(" ", "")
    assert "<imgsrc=file:///etc/passwd>" in seen
    assert "abc‹U+202E›gnp.exe" in seen
    assert "root:" not in seen
    assert "-END" in seen and "n" * 100 not in seen
    assert json.loads((tmp_path / "report.json").read_text()) == hostile_report


@pytest.mark.parametrize("name", ["gpu_report", "hostile_report"])
def test_the_same_report_gives_the_same_bytes(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(name)
    first = [path.read_bytes() for path in write_report(report, tmp_path / "a")]
    second = [path.read_bytes() for path in write_report(report, tmp_path / "b")]
    assert first == second


@pytest.mark.parametrize(
    "wanted",
    [
        '<img alt="x" src="file:///etc/passwd">',
        '<img alt="x" src="http://127.0.0.1:9/x.png">',
        '<img alt="x" src="data:image/png;base64,AAAA">',
        '<link rel="stylesheet" href="file:///etc/passwd">',
        '<p style="background: url(file:///etc/passwd)">x</p>',
    ],
)
def test_a_page_that_asks_for_anything_else_is_refused(wanted: str) -> None:
    html = f'<html lang="en"><head><title>x</title></head><body>{wanted}</body></html>'
    with pytest.raises(AuditError, match="not bundled"):
        render_pdf(Page(html, frozenset()), "a4")


def test_a_failure_leaves_the_old_report_whole(gpu_report: dict[str, Any], tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in write_report(gpu_report, tmp_path)}
    gpu_report["cost"]["held_usd"] = float("nan")
    with pytest.raises(AuditError, match="no number"):
        write_report(gpu_report, tmp_path)
    with pytest.raises(AuditError, match="no such paper: a3; choose one of a4, letter"):
        write_report(gpu_report | {"cost": gpu_report["cost"] | {"held_usd": 1.0}}, tmp_path, paper="a3")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_named(gpu_report: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AuditError, match="cannot be written"):
        write_report(gpu_report, tmp_path / "file" / "out")
