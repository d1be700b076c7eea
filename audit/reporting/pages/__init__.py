"""The report's pages: each a function from the report to what its template shows, or None where it makes no sense."""

from collections.abc import Callable, Mapping
from typing import Any

from audit.reporting.pages.answer import answer
from audit.reporting.pages.method import method

PageMaker = Callable[[Mapping[str, Any]], dict[str, Any] | None]

PAGES: Mapping[str, PageMaker] = {
    "answer": answer,
    "method": method,
}
