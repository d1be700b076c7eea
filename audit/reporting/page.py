"""The report as one HTML text: figures and words in the templates, everything escaped and made visible."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from audit.errors import AuditError
from audit.reporting import numerals, wording
from audit.reporting.definition import Definition
from audit.reporting.hostile import visible
from audit.reporting.pages import PAGES
from audit.reporting.period import period, span

if TYPE_CHECKING:
    from jinja2 import Environment

NAME_LIMIT = 56  # characters of a name on the page; report.json has it in full


@dataclass(frozen=True)
class Page:
    """The HTML, and the URLs of the assets it carries within itself (nothing else may be fetched for it)."""

    html: str
    assets: frozenset[str]


def render_page(report: Mapping[str, Any], what: Definition) -> Page:
    """The report's HTML, complete in itself: style and hatch are inside, no other file is needed."""
    style, assets = style_sheet(what)
    text = (
        environment(what)
        .get_template("page.html.j2")
        .render(
            r=report,
            cost=report["cost"],
            pages=[(name, made) for name in what.pages if (made := PAGES[name](report)) is not None],
            title=what.title,
            css=style,
            created=created(),
            period=period(report),
            by_node=wording.node_sizes_known(report),
        )
    )
    return Page(text, assets)


def environment(what: Definition) -> "Environment":
    """What the report's templates are filled in with: all is escaped and made visible, and a NULL is refused."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(what.templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    found.filters.update(
        name=lambda text, limit=NAME_LIMIT: visible(text, limit),
        cell=numerals.whole,
        dollars=numerals.dollars_prose,
        percent=numerals.percent,
        rate=numerals.rate,
        sentence=wording.sentence,
    )
    found.globals.update(
        reason=wording.reason,
        basis=wording.basis,
        window_hours=wording.window_hours,
        status=wording.status,
        count_of=numerals.count_of,
        span=span,
    )
    return found


def _shown(value: object) -> object:
    """What a template is about to print: hostile text made visible, and a NULL refused."""
    from markupsafe import Markup

    if value is None:
        raise AuditError("a template printed a value that was not measured", remedy="report this as a fault")
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value, 1_000)
    return value


def style_sheet(what: Definition) -> tuple[str, frozenset[str]]:
    """The style sheet with its hatch inside, so that report.html stands alone."""
    hatch = base64.b64encode((what.templates / "hatch.svg").read_bytes()).decode("ascii")
    url = f"data:image/svg+xml;base64,{hatch}"
    sheets = [what.templates / "report.css", *sorted(what.templates.glob("pages/*.css"))]
    style = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    return style.replace("hatch.svg", url), frozenset({url})


def created() -> str:
    """When the report is made; SOURCE_DATE_EPOCH, where it is set, makes the files reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    try:
        return f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError) as error:
        raise AuditError(
            f"SOURCE_DATE_EPOCH is no number of seconds: {visible(epoch, 40)}",
            remedy="unset it or correct it",
        ) from error
