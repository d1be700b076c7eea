"""The report's pages: each a function from the report to what its template shows, or None where it makes no sense."""

from collections.abc import Callable, Mapping
from typing import Any

from audit.reporting.pages.advice import advice
from audit.reporting.pages.answer import answer
from audit.reporting.pages.evidence import evidence
from audit.reporting.pages.failures import failures
from audit.reporting.pages.foresight import foresight
from audit.reporting.pages.gpus import gpus
from audit.reporting.pages.method import method
from audit.reporting.pages.sure import sure
from audit.reporting.pages.use import use
from audit.reporting.pages.where import where
from audit.reporting.pages.who import who
from audit.reporting.pages.window import window

PageMaker = Callable[[Mapping[str, Any]], dict[str, Any] | None]

PAGES: Mapping[str, PageMaker] = {
    "answer": answer,
    "where": where,
    "who": who,
    "gpus": gpus,
    "use": use,
    "failures": failures,
    "sure": sure,
    "window": window,
    "foresight": foresight,
    "advice": advice,
    "method": method,
    "evidence": evidence,
}
