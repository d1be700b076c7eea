"""The verbs that show what was found: `report`, `explain`, `compare`."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audit.errors import ExitCode

if TYPE_CHECKING:
    from audit.reporting.pseudonyms import Pseudonyms
    from audit.store import Store
    from audit.workspace import Workspace

FORMATS = ("pdf", "html", "json", "csv")
_ENDINGS = {".pdf", ".html", ".json", ".csv"}
_SAID = """
    window.from window.to hours.held cost.mode
    slice.partitions policy.whole_node_partitions prices.usd_per_node_hour prices.owned
""".split()  # reasons that a person should read at once


def report(arguments: argparse.Namespace) -> ExitCode:
    """`audit report`: writes the report's files."""
    from audit.workspace import find_workspace

    return reported(
        find_workspace(arguments.dir),
        formats=arguments.formats,
        paper=arguments.paper,
        real_names=arguments.real_names,
        as_json=arguments.json,
    )


def reported(
    workspace: "Workspace",
    *,
    formats: Sequence[str] = FORMATS,
    paper: str = "a4",
    real_names: bool = False,
    as_json: bool = False,
) -> ExitCode:
    """Writes the report of an engagement and says what is in it."""
    from audit.accounting.figures import figures
    from audit.reporting import text_summary, write_report
    from audit.reporting.exports import csv_files
    from audit.reporting.pseudonyms import pseudonymise
    from audit.store import open_current
    from audit.terminal import Progress, print_json, say

    progress = Progress()
    progress.show("adding up hours and dollars")
    with open_current(workspace, say) as store:
        report = figures(store.connection, workspace)
        names = _names(store, real_names=real_names)
        report = pseudonymise(report, names)
        progress.show("laying out the report")
        tables = csv_files(report, store.connection, names) if "csv" in formats else {}
        paths = write_report(report, workspace.out, paper=paper, formats=formats, tables=tables)
    progress.done()
    if as_json:
        print_json(report)
    else:
        print(text_summary(report))
        for path in paths:
            print(path)
    earlier = sorted(p.name for p in workspace.out.glob("report.*") if p.suffix in _ENDINGS and p not in paths)
    earlier += sorted(p.name for p in workspace.out.glob("*.csv") if p not in paths and p.stem != "recommend")
    if earlier:
        say(f"audit: of an earlier report, and left as they are: {', '.join(earlier)}")
    for key in _SAID:
        if key in report["reasons"]:
            say(f"audit: {report['reasons'][key]}")
    if (report["recoverable"]["abstained"] or {}).get("missing"):
        say(f"audit: {report['reasons']['recoverable.abstained']}")
    if not report["coverage"]["headline_allowed"]:
        say(f"audit: no headline: {report['coverage']['reason']}")
    return ExitCode.DONE


def _names(store: "Store", *, real_names: bool) -> "Pseudonyms":
    """What stands for each user; where it is the name itself, one line says so."""
    from audit.reporting.pseudonyms import pseudonyms

    if real_names:
        from audit.terminal import say

        say("audit: --real-names: users stand under their own names, not under pseudonyms")
    return pseudonyms(store.connection, store.workspace.root, real_names=real_names)


def explain(arguments: argparse.Namespace) -> ExitCode:
    """`audit explain`: lists what is behind a figure."""
    from audit.accounting.explain import explain
    from audit.accounting.figure_keys import figure_list
    from audit.accounting.figures import figures
    from audit.reporting.explained import explained, explained_foot, explained_head
    from audit.reporting.hostile import visible
    from audit.reporting.pseudonyms import pseudonymise
    from audit.store import open_current
    from audit.terminal import Progress, print_json, print_table, say
    from audit.workspace import find_workspace

    workspace = find_workspace(arguments.dir)
    progress = Progress()
    progress.show("adding up hours and dollars")
    with open_current(workspace, say) as store:
        report = figures(store.connection, workspace)
        names = _names(store, real_names=arguments.real_names)
        shown = pseudonymise(report, names)
        opened = arguments.figure and explain(
            store.connection, report, arguments.figure, limit=arguments.limit, shown=shown
        )
    progress.done()
    if not opened:
        listed = figure_list(shown)
        (print_json if arguments.json else print_table)(listed)
        return ExitCode.DONE
    found = explained(opened, names)
    if arguments.json:
        print_json(found)
        return ExitCode.DONE
    for line in explained_head(found):
        print(visible(line))
    if found["rows"]:
        print_table(found["rows"])
    for line in explained_foot(found):
        print(line)
    return ExitCode.DONE


def compare(arguments: argparse.Namespace) -> ExitCode:
    """`audit compare`: sets two windows side by side."""
    from audit.accounting.figures import figures
    from audit.reporting.compare import alike, comparison, comparison_lines, comparison_table, side
    from audit.reporting.hostile import visible
    from audit.store import open_current
    from audit.terminal import Progress, print_json, print_table, say

    a, own_b = (side(asked, arguments.dir) for asked in (arguments.a, arguments.b))
    b, notes = alike(a, own_b)
    progress = Progress()
    reports = []
    for name, workspace in (("A", a), ("B", b)):
        progress.show(f"adding up hours and dollars of {name}")
        with open_current(workspace, say) as store:
            reports.append(figures(store.connection, workspace))
    progress.done()
    found = comparison(*reports)
    head, foot = comparison_lines(found)
    if arguments.json:
        print_json({**found, "notes": [*notes, *found["notes"]]})
    else:
        print("\n".join(visible(line) for line in head))
        print_table(comparison_table(found))
        print("".join(f"{visible(line)}\n" for line in foot), end="")
    for note in (*notes, *found["notes"]):
        say(f"audit: {note}")
    return ExitCode.DONE
