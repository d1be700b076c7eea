"""The report's HTML as a tagged PDF (PDF/UA-1), from bundled fonts, with every other fetch refused.

What is bundled: the fonts, and the images that the page carries in itself.
"""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from audit.errors import AuditError
from audit.reporting.page import Page

if TYPE_CHECKING:
    from weasyprint.urls import URLFetcher, URLFetcherResponse

# Text is 174 mm wide and at most 241 mm high on both, so nothing reflows: only the margins differ.
PAPERS = {
    "a4": "size: A4; margin: 25mm 18mm 19mm",
    "letter": "size: Letter; margin: 22mm 20.95mm 16mm",
}

# Packages that bring the fonts as files, and the family each holds.
FONTS = {
    "fontpkg_source_sans_3": "Source Sans 3",
    "fontpkg_source_serif_4": "Source Serif 4",
    "fontpkg_source_code_pro": "Source Code Pro",
}


def render_pdf(page: Page, paper: str) -> bytes:
    """The PDF. AuditError for an unknown paper, or when the page asks for anything that is not bundled."""
    from weasyprint import CSS, HTML
    from weasyprint.text.fonts import FontConfiguration
    from weasyprint.urls import FatalURLFetchingError

    if paper not in PAPERS:
        raise AuditError(f"no such paper: {paper}", remedy=f"choose one of {', '.join(PAPERS)}")
    faces, font_urls = _fonts()
    fetcher = _bundled_only(page.assets | font_urls)
    fonts = FontConfiguration()
    sheet = CSS(string=f"@page {{ {PAPERS[paper]} }}\n{faces}", url_fetcher=fetcher, font_config=fonts)
    try:
        pdf = HTML(string=page.html, url_fetcher=fetcher).write_pdf(
            stylesheets=[sheet], font_config=fonts, pdf_variant="pdf/ua-1", finisher=_scope_headers
        )
    except FatalURLFetchingError as error:
        raise AuditError("the page asked for something that is not bundled with it", where=str(error)) from error
    return bytes(pdf)


def _fonts() -> tuple[str, frozenset[str]]:
    """@font-face rules for the three families, upright and italic, and the URLs they name."""
    rules, urls = [], set()
    for package, family in FONTS.items():
        for file in sorted(Path(str(files(package)), "files").glob("*.ttf")):
            url = file.as_uri()
            slope = "italic" if "Italic" in file.name else "normal"
            urls.add(url)
            rules.append(
                f'@font-face {{ font-family: "{family}"; src: url("{url}"); '
                f"font-weight: 200 900; font-style: {slope} }}"
            )
    return "\n".join(rules), frozenset(urls)


def _bundled_only(allowed: frozenset[str]) -> "URLFetcher":
    from weasyprint.urls import URLFetcher

    class BundledOnly(URLFetcher):  # type: ignore[misc]
        """Fetches the allowed URLs; anything else stops the rendering."""

        def fetch(self, url: str, headers: dict[str, str] | None = None) -> "URLFetcherResponse":
            if url not in allowed:
                raise ValueError("not a bundled asset")
            return super().fetch(url, headers)

    return BundledOnly(allowed_protocols=("file", "data"), fail_on_errors=True)


class _Pdf(Protocol):
    """The part of the renderer's document that is read here: its objects, dictionaries among them."""

    objects: list[Any]


def _scope_headers(_document: object, pdf: _Pdf) -> None:
    """Says of each table header whether it heads a row or a column, which the renderer leaves out."""
    by_reference = {item.reference: item for item in pdf.objects}
    for item in pdf.objects:
        if isinstance(item, dict) and item.get("S") == "/TH" and "A" in item:
            body = by_reference[by_reference[item["P"]]["P"]]
            item["A"]["Scope"] = "/Column" if body["S"] == "/THead" else "/Row"
