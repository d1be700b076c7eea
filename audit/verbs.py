"""The verbs of the command line: each calls what does the work and prints. What is heavy is imported inside."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audit.errors import ExitCode, NoReportError, UsageError

if TYPE_CHECKING:
    from audit.reporting.pseudonyms import Pseudonyms
    from audit.store import FileResult, Options, Store
    from audit.workspace import Workspace

FORMATS = ("pdf", "html", "json", "csv")
_ENDINGS = {".pdf", ".html", ".json", ".csv"}
_SAID = """
    window.from window.to hours.held cost.mode
    slice.partitions policy.whole_node_partitions prices.usd_per_node_hour prices.owned
""".split()  # reasons that a person should read at once


def init(arguments: argparse.Namespace) -> ExitCode:
    """`audit init`: makes the folder of an engagement."""
    from audit.workspace import config_text, create_workspace

    text = config_text(
        cluster=arguments.cluster,
        timezone=arguments.timezone,
        window_from=arguments.window_from,
        window_to=arguments.window_to,
        nodes=arguments.nodes,
        partitions=tuple(arguments.partition),
    )
    workspace = create_workspace(arguments.folder, text)
    print(f"{workspace.root}/audit.toml is made; next: audit ingest --dir {workspace.root} FILE…")
    return ExitCode.DONE


def ingest(arguments: argparse.Namespace) -> ExitCode:
    """`audit ingest`: takes evidence into the store."""
    from dataclasses import asdict

    from audit.store import Options
    from audit.terminal import print_json, print_table
    from audit.workspace import find_workspace

    try:
        delimiter = arguments.delimiter.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        what = f"--delimiter {arguments.delimiter!r} cannot be read"
        raise UsageError(what, remedy=r"write it plainly, or as '\x1f'") from None
    columns = tuple(filter(None, (name.strip() for name in arguments.columns.split(","))))
    results = _ingested(find_workspace(arguments.dir), arguments.files, Options(columns, delimiter))
    good = [r for r in results if not r.error]
    if arguments.json:
        print_json([asdict(r) for r in results])
    else:
        print_table([_file_row(r) for r in good])
        if not results:
            print("nothing new in evidence/; give files, or see `audit ingest --help` for the commands that make them")
    if len(good) == len(results):
        return ExitCode.DONE
    return ExitCode.PARTLY_DONE if good else ExitCode.FAILED


def _ingested(workspace: "Workspace", files: Sequence[str], options: "Options") -> "list[FileResult]":
    from audit.store import ingest
    from audit.terminal import Progress, say

    progress = Progress()
    results: list[FileResult] = []
    progress.show("reading evidence")

    def watch(name: str, records: int) -> None:
        progress.show(f"{len(results)} files done; {name}: {records:,} records")

    def aside(line: str) -> None:
        progress.done()
        say(line)

    for result in ingest(workspace, files, options=options, say=aside, watch=watch):
        results.append(result)
        if result.error:
            aside(f"audit: {result.error}")
        elif result.rejects and not result.attempts + result.steps + result.nodes + result.node_states:
            why = f"none of its {result.rejects} records could be read: {result.first_reject}"
            aside(f"audit: {result.name}: {why}; see `audit show reject`, check --columns and --delimiter")
        elif result.other_cluster and not result.attempts + result.steps + result.node_states:
            other = f"only of {result.other_name}: is cluster in audit.toml right?"
            aside(f"audit: {result.name}: holds no row of {workspace.config.cluster}, {other}")
    progress.done()
    return results


def _file_row(result: "FileResult") -> dict[str, object]:
    return {
        "file": result.name,
        "read as": "known already" if result.known else result.kind,
        "attempts": result.attempts,
        "steps": result.steps,
        "nodes": result.nodes,
        "states": result.node_states,
        "rejected": result.rejects,
        "other cluster": result.other_cluster,
    }


def report(arguments: argparse.Namespace) -> ExitCode:
    """`audit report`: writes the report's files."""
    from audit.workspace import find_workspace

    return _reported(
        find_workspace(arguments.dir),
        formats=arguments.formats,
        paper=arguments.paper,
        real_names=arguments.real_names,
        as_json=arguments.json,
    )


def _reported(
    workspace: "Workspace",
    *,
    formats: Sequence[str] = FORMATS,
    paper: str = "a4",
    real_names: bool = False,
    as_json: bool = False,
) -> ExitCode:
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
    earlier = sorted(p.name for p in workspace.out.glob("*.*") if p.suffix in _ENDINGS and p not in paths)
    if earlier:
        say(f"audit: of an earlier report, and left as they are: {', '.join(earlier)}")
    for key in _SAID:
        if key in report["reasons"]:
            say(f"audit: {report['reasons'][key]}")
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


def show(arguments: argparse.Namespace) -> ExitCode:
    """`audit show`: prints one table."""
    from audit.accounting.views import create_use_views
    from audit.store import open_current
    from audit.terminal import print_json_rows, print_table, say
    from audit.workspace import find_workspace

    workspace = find_workspace(arguments.dir)
    with open_current(workspace, say) as store:
        if arguments.table in ("allocation", "usage"):
            create_use_views(store.connection, workspace)
        limit = f" LIMIT {arguments.limit + 1}" if arguments.limit > 0 else ""
        cursor = store.connection.execute(f"SELECT * FROM {arguments.table} ORDER BY ALL{limit}")
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    more = 0 < arguments.limit < len(rows)
    rows = rows[: arguments.limit] if more else rows
    if arguments.json:
        print_json_rows(names, rows)
    else:
        print_table([dict(zip(names, row, strict=True)) for row in rows])
        say("times are UTC" + (f"; the first {arguments.limit} rows: --limit 0 shows all" if more else ""))
    return ExitCode.DONE


def demo(arguments: argparse.Namespace) -> ExitCode:
    """`audit demo`: the whole chain on a generated month."""
    from audit.sample import ACCELERATORS, generate
    from audit.store import Options
    from audit.terminal import Progress, say
    from audit.verbs_sizing import train_in
    from audit.workspace import check_free, config_text, create_workspace

    folder = arguments.folder
    check_free(folder)
    progress = Progress()
    progress.show("generating the sample")
    made = generate(
        folder / "evidence",
        folder / "truth",
        jobs=arguments.jobs,
        gpus=arguments.gpus,
        days=arguments.days,
        seed=arguments.seed,
        sampling_s=arguments.sampling,
    )
    progress.done()
    workspace = create_workspace(
        folder,
        config_text(
            cluster=made.cluster,
            timezone=made.timezone,
            window_from=made.window_from.isoformat(),
            window_to=made.window_to.isoformat(),
            accelerators=ACCELERATORS,
            generated_sample=True,
        ),
    )
    print(f"generated sample: {made.attempts:,} attempts on {made.nodes:,} nodes with {made.gpus:,} GPUs")
    if arguments.only_generate:
        print(f"{folder}/evidence holds it, {folder}/truth what each attempt truly needed")
        return ExitCode.DONE
    failed = [r for r in _ingested(workspace, [], Options(generated=True)) if r.error]
    if failed:
        return ExitCode.FAILED
    try:
        train_in(workspace)
    except NoReportError as too_few:
        say(f"audit: {too_few}")
    return _reported(workspace)
