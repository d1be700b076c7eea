"""Writes a report's files: all of them whole, or none of them touched."""

import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from audit.errors import AuditError

Content = bytes | Callable[[Path], None]  # what is in a file, or what writes it to a path


def write_report(
    report: Mapping[str, Any],
    out: Path,
    *,
    paper: str = "a4",
    formats: Collection[str] | None = None,
    tables: Mapping[str, Content] | None = None,
) -> list[Path]:
    """Writes report.json, report.html, report.pdf and `tables` into `out` (made if need be); returns their paths.

    Only those of `formats` (json, html, pdf, csv; None: all); `tables` are the CSV files by name. `paper` is "a4" or
    "letter". Everything is rendered before the first file is replaced. The same report under the same
    SOURCE_DATE_EPOCH gives the same bytes. AuditError: unknown paper, a figure that is no number, a folder that cannot
    be written.
    """
    asked = {"json", "html", "pdf", "csv"} if formats is None else set(formats)
    files: dict[str, Content] = {"report.json": report_json(report)} if "json" in asked else {}
    if asked & {"html", "pdf"}:
        files |= _pages(report, paper, asked)
    if "csv" in asked:
        files |= tables or {}
    return write_files(out, files)


def write_files(out: Path, files: Mapping[str, Content]) -> list[Path]:
    """Writes all of the files into `out` (made if need be), or touches none; AuditError where it cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        return _replace(out, files)
    except OSError as error:
        raise AuditError(
            f"the report cannot be written: {error.strerror}",
            where=str(out),
            remedy="free space or choose another folder",
        ) from error


def _pages(report: Mapping[str, Any], paper: str, asked: set[str]) -> dict[str, Content]:
    from audit.reporting.definition import definition
    from audit.reporting.page import render_page
    from audit.reporting.pdf import render_pdf

    page = render_page(report, definition())
    files: dict[str, Content] = {}
    if "html" in asked:
        files["report.html"] = page.html.encode()
    if "pdf" in asked:
        files["report.pdf"] = render_pdf(page, paper)
    return files


def report_json(report: Mapping[str, Any]) -> bytes:
    """The report as JSON, keys sorted, two spaces; pure ASCII, so no name can garble a terminal."""
    try:
        return (json.dumps(report, sort_keys=True, indent=2, allow_nan=False) + "\n").encode("ascii")
    except ValueError as error:
        raise AuditError(f"a figure of the report is no number: {error}", remedy="report this as a fault") from error


def _replace(out: Path, files: Mapping[str, Content]) -> list[Path]:
    """Puts each file in place by a rename, so that a reader meets the old one or the new one, whole."""
    waiting = {out / name: out / f".{name}.{os.getpid()}.tmp" for name in files}
    for path in waiting:
        if path.is_dir():
            raise AuditError("is a folder where a report's file belongs", where=str(path), remedy="move it away")
    try:
        for temporary, content in zip(waiting.values(), files.values(), strict=True):
            if callable(content):
                content(temporary)
            else:
                temporary.write_bytes(content)
        for path, temporary in waiting.items():
            temporary.replace(path)
    finally:
        for temporary in waiting.values():
            temporary.unlink(missing_ok=True)
    return list(waiting)
