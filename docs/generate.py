"""Writes method.md, cli.md and report-json.md beside this file, from the code that they describe.

`python docs/generate.py` writes them; a test fails where one of them is stale.
"""

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from inspect import cleandoc
from pathlib import Path
from typing import Any
from unittest.mock import patch

from audit.accounting.glossary import FIGURES, schema
from audit.accounting.views import definitions
from audit.cli import main
from audit.pricing import book, class_price, own, unbundled_rate
from audit.pricing.book import CpuFit, PriceBook
from audit.reporting.pages.method import TERMS

HERE = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py: change what it describes, not this file. -->"
COLUMNS = "100"

# The relations in the order in which each rests on those before it.
READING_ORDER: Mapping[str, tuple[str, ...]] = {
    "How it is added up": ("total", "in_steps"),
    "Where and when": ("data_gap", "observed", "node_span"),
    "What was held": ("gpu_split", "even_split", "allocation", "held_allocation", "span_held"),
    "What was used": (
        "step_memory",
        "cgroup_use",
        "telemetry_use",
        "memory_use",
        "core_use",
        "io_use",
        "gpu_seen",
        "gpu_map",
        "gpu_held",
        "gpu_activity",
        "gpu_driver",
        "gpu_touched",
        "gpu_use",
        "usage",
    ),
    "What collectors watched": (
        "telemetry_gap",
        "telemetry_coverage",
        "collector_overhead",
        "unattributed",
        "gpu_time",
        "sreport_span",
    ),
    "What should have been asked": (
        "outcome",
        "family",
        "hindsight",
        "recommended_shape",
        "recommendation",
        "advised_shape",
        "lowered",
        "killed",
        "kept_shape",
    ),
    "What a node's dollars went to": (
        "share",
        "node_level",
        "binding",
        "running",
        "bound_share",
        "node_cost",
        "cut",
        "needed",
        "won_share",
        "node_won",
        "node_rerun",
        "down_span",
        "node_hours",
        "hourly",
        "hourly_won",
    ),
    "Where node sizes are unknown": (
        "unbundled_cost",
        "given_up",
        "unbundled_won",
        "unbundled_rerun",
        "unbundled_partition_hour",
        "unbundled_request_rate",
    ),
    "What each attempt cost": ("attempt_cost", "attempt", "expected", "advice", "recoverable_day"),
    "What somebody was queueing for": (
        "node_partition_hour",
        "node_request_rate",
        "queued",
        "per_hour",
        "waiting_hour",
        "contended",
    ),
}


def texts() -> dict[str, str]:
    """The files' texts by name."""
    pages = {"method.md": _method(), "cli.md": _cli(), "report-json.md": _report_json()}
    return {name: "\n".join([MADE, "", *lines]).rstrip() + "\n" for name, lines in pages.items()}


def _method() -> Iterator[str]:
    yield from ("# Method", "", "What every figure rests on, from the words to the rows.", "")
    yield from ("## Words", "", "| word | means |", "|---|---|")
    for term in TERMS:
        yield f"| {_cell(term.word)} | {_cell(term.meaning + _without_sizes(term.unbundled))} |"
    yield from ("", "## Definitions", "")
    yield "Each is one relation, made by the `.sql` file of its name in [audit/accounting](../audit/accounting)."
    told = definitions()
    for group, names in READING_ORDER.items():
        yield from ("", f"### {group}", "")
        for name in names:
            text = told.pop(name)
            yield f"* **{name}**: {text[:1].upper()}{text[1:]}"
    if told:
        raise ValueError(f"READING_ORDER lacks {', '.join(told)}")
    yield from (
        "",
        "## Figures",
        "",
        "`audit explain FIGURE` lists what stands behind each. Dollars are of the window;",
    )
    yield from ("`…_usd_per_month` is the same for a month of 730 hours.", "")
    yield from ("| figure | called | unit | means | rows behind it |", "|---|---|---|---|---|")
    for figure in FIGURES:
        if not figure.key.endswith("_per_month"):
            rows = figure.rows or figure.stated
            yield f"| `{figure.key}` | {figure.label} | {figure.unit} | {_cell(figure.meaning)} | {_cell(rows)} |"
    yield from ("", "## Prices", "", *_prices(), "")
    yield from re.sub(r"^#", "##", (HERE / "sceptic.md").read_text(encoding="utf-8"), flags=re.MULTILINE).splitlines()


def _without_sizes(meaning: str | None) -> str:
    """What a word means where node sizes are unknown, as a tail to what it means elsewhere."""
    if meaning is None:
        return ""
    return " NULL without node sizes." if "sizes of the nodes" in meaning else f" Without node sizes: {meaning}"


def _prices() -> Iterator[str]:
    rules = (
        ("", book),
        ("**A node with GPUs.** ", PriceBook.gpu_node),
        ("**A node without.** ", CpuFit),
        ("", PriceBook.cpu_fits),
        ("**Which of them.** ", class_price),
        ("**Without node sizes, a GPU.** ", PriceBook.gpu_alone),
        ("**Without node sizes, cores and memory.** ", unbundled_rate),
        ("", own),
    )
    for lead, rule in rules:
        text = re.sub(r"\s*(Raises )?NoReportError [^.]*\.", "", cleandoc(rule.__doc__ or ""))
        yield from (*f"{lead}{text}".splitlines(), "")


def _cli() -> Iterator[str]:
    yield from ("# Command line", "", "What `--help` prints.", "")
    top = _help()
    yield from ("```text", top, "```")
    for verb in re.findall(r"^    (\w+)(?: |$)", top, re.MULTILINE):
        yield from ("", f"## audit {verb}", "", "```text", _help(verb), "```")


def _help(*verb: str) -> str:
    shown = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": COLUMNS, "NO_COLOR": "1"}), redirect_stdout(shown), suppress(SystemExit):
        main([*verb, "--help"])
    return shown.getvalue().rstrip()


def _report_json() -> Iterator[str]:
    whole = schema()
    yield from ("# report.json", "", whole["description"], "")
    yield "The schema itself is [report.schema.json](../audit/accounting/report.schema.json) (JSON Schema 2020-12),"
    yield f"`{whole['$id']}`. A key without “or NULL” is always there with a value; lists may be empty."
    yield from ("", "| key | type | unit | means |", "|---|---|---|---|")
    for key, said in _keys(whole["properties"], ""):
        yield f"| `{key}` | {_type(said)} | {said.get('unit', '')} | {_cell(said['description'])} |"


def _keys(properties: Mapping[str, Any], above: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key with what the schema says of it, the keys of a row of a list behind `[]`."""
    for name, said in properties.items():
        inner = schema()["$defs"][said["$ref"].rpartition("/")[2]] if "$ref" in said else said
        yield f"{above}{name}", inner
        row = inner.get("items", inner)
        yield from _keys(row.get("properties", {}), f"{above}{name}{'[]' if 'items' in inner else ''}.")


def _type(said: Mapping[str, Any]) -> str:
    if "const" in said:
        return f"`{said['const']}`"
    if "enum" in said:
        return ", ".join(f"`{value}`" for value in said["enum"])
    kinds = [said["type"]] if isinstance(said["type"], str) else said["type"]
    of = f" of {_type(said['items'])}" if "items" in said and "properties" not in said["items"] else ""
    named = {"null": "NULL", "object": "table" if "properties" in said else "table by name", "array": f"list{of}"}
    return " or ".join(named.get(kind, kind) for kind in kinds)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write() -> None:
    """Writes every file."""
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
