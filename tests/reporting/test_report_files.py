"""The files that `write_report` leaves: read back as a reader, a program and a second run would."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from audit.errors import AuditError
from audit.reporting import write_report
from audit.reporting.numerals import dollars_prose, percent, whole
from audit.reporting.page import Page
from audit.reporting.pdf import render_pdf


@pytest.fixture(autouse=True, scope="module")
def fixed_date() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        yield


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


@pytest.fixture(scope="module")
def written(gpu_copy: Callable[[], dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The GPU cluster's files, made once, in a folder that was not there."""
    return write_report(gpu_copy(), tmp_path_factory.mktemp("written") / "new" / "out")


def test_three_files_and_nothing_else(report: dict[str, Any], written: list[Path]) -> None:
    out = written[0].parent
    assert written == [out / "report.json", out / "report.html", out / "report.pdf"]
    assert sorted(out.iterdir()) == sorted(written)
    text = written[0].read_text()
    assert json.loads(text) == report
    assert text == json.dumps(report, sort_keys=True, indent=2) + "\n"


def test_the_pdf_shows_every_page_and_its_figures(report: dict[str, Any], written: list[Path]) -> None:
    reader, seen = PdfReader(written[2]), pdf_words(written[2])
    assert len(reader.pages) == written[1].read_text().count("<section") > 2
    assert f"Page 1 of {len(reader.pages)}" in seen
    won, held = report["recoverable"]["high_usd_per_month"], report["cost"]["held_usd_per_month"]
    for figure in (dollars_prose(won), whole(won), whole(held), percent(won / held)):
        assert figure in seen, figure
    assert report["evidence"][0]["sha256"] in seen


@pytest.mark.parametrize(
    ("name", "paper", "size_pt"),
    [("unmeasured_report", "a4", (595.3, 841.9)), ("cpu_report", "letter", (612, 792))],
)
def test_either_paper_has_one_leaf_a_page(
    name: str, paper: str, size_pt: tuple[float, float], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    _, html, pdf = write_report(request.getfixturevalue(name), tmp_path, paper=paper)
    reader = PdfReader(pdf)
    assert len(reader.pages) == html.read_text().count("<section")
    box = reader.pages[0].mediabox
    assert (float(box.width), float(box.height)) == pytest.approx(size_pt, abs=0.1)


def test_the_pdf_is_tagged_titled_and_in_english(written: list[Path]) -> None:
    reader = PdfReader(written[2])
    root = reader.root_object
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    assert reader.metadata and reader.metadata.title == "Capacity report: sample, 1–14 May 2026"
    assert b"pdfuaid:part" in root["/Metadata"].get_data()
    elements = structure(root["/StructTreeRoot"])
    figures = [element for element in elements if element.get("/S") == "/Figure"]
    headers = [element for element in elements if element.get("/S") == "/TH"]
    assert len(figures) >= 3 and all(len(figure["/Alt"]) > 20 for figure in figures)
    assert headers and {header["/A"]["/Scope"] for header in headers} == {"/Row", "/Column"}
    assert [element for element in elements if element.get("/S") == "/H1"]


def test_only_the_bundled_fonts_are_in_the_pdf(written: list[Path]) -> None:
    fonts = {
        str(font.get_object()["/BaseFont"])
        for page in PdfReader(written[2]).pages
        for font in page["/Resources"]["/Font"].values()  # type: ignore[index]
    }
    assert fonts and all(re.search("Source-?(Sans|Serif|Code)", font) for font in fonts), fonts


def test_hostile_names_neither_break_nor_reorder_a_page(hostile_report: dict[str, Any], tmp_path: Path) -> None:
    data, html, pdf = write_report(hostile_report, tmp_path, paper="letter")
    seen = pdf_words(pdf).replace(" ", "")
    assert "<imgsrc=file:///etc/passwd>" in seen
    assert "abc‹U+202E›" in seen
    assert "root:" not in seen
    assert "-END" in seen and "n" * 100 not in seen
    assert json.loads(data.read_text()) == hostile_report
    assert len(PdfReader(pdf).pages) == html.read_text().count("<section")


def test_the_same_report_gives_the_same_bytes(report: dict[str, Any], written: list[Path], tmp_path: Path) -> None:
    again = write_report(report, tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


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


def test_a_failure_leaves_the_old_report_whole(report: dict[str, Any], tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in write_report(report, tmp_path, formats=("json", "html"))}
    report["cost"]["held_usd"] = float("nan")
    with pytest.raises(AuditError, match="no number"):
        write_report(report, tmp_path)
    with pytest.raises(AuditError, match="no such paper: a3; choose one of a4, letter"):
        write_report(report | {"cost": report["cost"] | {"held_usd": 1.0}}, tmp_path, paper="a3")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_named(report: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AuditError, match="cannot be written"):
        write_report(report, tmp_path / "file" / "out")
