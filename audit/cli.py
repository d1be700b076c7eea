"""The command line: parses, calls, prints. What is heavy is imported inside the verb that needs it."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from audit import __version__
from audit.errors import AuditError, ExitCode, UsageError
from audit.site import site_commands

if TYPE_CHECKING:
    from audit.reporting.pseudonyms import Pseudonyms
    from audit.store import FileResult, Options, Store
    from audit.workspace import Workspace

Verb = Callable[[argparse.Namespace], ExitCode]
FORMATS = ("pdf", "html", "json", "csv")
TABLES = """
    job step allocation usage node node_state span gpu_summary evidence_file reject slice_node window_bounds
""".split()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; answers its exit code (`audit.errors.ExitCode`)."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.verb(arguments))
    except AuditError as error:
        if arguments.debug:
            raise
        _say(f"audit: {error}")
        return int(error.exit_code)
    except KeyboardInterrupt:
        _say("audit: interrupted; what was done is kept, run the command again to go on")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.DONE)
    except Exception as error:
        if arguments.debug:
            raise
        first = (str(error).splitlines() or [""])[0]
        what = f"{type(error).__name__}: {first[:300]}"
        _say(f"audit: a fault of ours: {what}; run it with --debug and send us what it prints")
        return int(ExitCode.FAILED)


def _say(line: str) -> None:
    from audit.terminal import say

    say(line)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="audit",
        description="Measured capacity audits of Slurm clusters: evidence to hours, dollars and a report.",
        epilog="example:\n  audit demo /tmp/demo        # the whole chain on a generated cluster\n\n"
        "exit codes: 0 done, 1 failed, 2 usage, 3 no report possible, 4 partly done, 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"audit {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback where something fails")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    init = _verb(
        verbs,
        "init",
        _init,
        "make the folder of an engagement",
        "audit init alpha --cluster alpha --timezone Europe/Berlin",
    )
    init.add_argument("folder", metavar="DIR", type=Path, help="the folder to make")
    init.add_argument("--cluster", required=True, help="the cluster's name in the accounting")
    init.add_argument("--timezone", required=True, help="of times without offset, e.g. Europe/Berlin or UTC")
    init.add_argument("--from", dest="window_from", metavar="TIME", help="the window's start, e.g. 2026-05-01")
    init.add_argument("--to", dest="window_to", metavar="TIME", help="its end, exclusive")
    init.add_argument("--nodes", metavar="HOSTLIST", help='the slice, e.g. "n[001-016]"; default: every node')
    init.add_argument(
        "--partition", action="append", default=[], help="the slice: all nodes of this partition; may be repeated"
    )

    ingest = _verb(
        verbs,
        "ingest",
        _ingest,
        "take evidence into the store",
        "audit ingest sacct-*.txt nodes.txt node-events.txt",
        site_commands(),
    )
    ingest.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="dumps, folders of dumps, or - for standard input; plain, gz, xz or zst; "
        "none: whatever stands in evidence/ and was not taken yet",
    )
    ingest.add_argument("--columns", metavar="A,B,…", default="", help="the columns of a dump without header")
    ingest.add_argument(
        "--delimiter", default="", help=r"its delimiter, where a header does not tell, e.g. '|' or '\x1f'"
    )
    ingest.add_argument("--json", action="store_true", help="what came of each file, as JSON")

    report = _verb(
        verbs,
        "report",
        _report,
        "write PDF, HTML, JSON and CSV to out/",
        "audit report --paper letter\n  audit report --format json,csv",
    )
    report.add_argument(
        "--format",
        dest="formats",
        metavar="A,B,…",
        type=_formats,
        default=FORMATS,
        help=f"which of {', '.join(FORMATS)} (default: all)",
    )
    report.add_argument("--paper", choices=("a4", "letter"), default="a4", help="of the PDF (default a4)")
    report.add_argument("--real-names", action="store_true", help="users by name, not by pseudonym")
    report.add_argument("--json", action="store_true", help="print report.json instead of the summary")

    explain = _verb(
        verbs,
        "explain",
        _explain,
        "print the rows behind a figure, which add up to it",
        "audit explain recoverable.high_usd\n  audit explain lost.TIMEOUT --limit 0 --json\n"
        "  audit explain               # every figure, its value and what it means",
    )
    explain.add_argument("figure", nargs="?", metavar="FIGURE", help="its key in report.json; none: lists every figure")
    explain.add_argument("--json", action="store_true", help="as JSON")
    explain.add_argument("--limit", type=int, default=50, help="rows at most, the largest; 0 for all (default 50)")
    explain.add_argument("--real-names", action="store_true", help="users by name, not by pseudonym")

    compare = _verb(
        verbs,
        "compare",
        _compare,
        "put two windows side by side",
        "audit compare spring autumn     # two folders of engagements\n"
        "  audit compare 2026-05-01..2026-05-15 2026-05-15..2026-05-29",
    )
    compare.add_argument("a", metavar="A", help="an engagement's folder, or a window FROM..TO of the one in --dir")
    compare.add_argument("b", metavar="B", help="the other one; it is reckoned with the prices and the policy of A")
    compare.add_argument("--json", action="store_true", help="as JSON")

    show = _verb(verbs, "show", _show, "print one of the store's tables", "audit show job --json --limit 0")
    show.add_argument("table", choices=TABLES, help="which; allocation and usage are worked out from the others")
    show.add_argument("--json", action="store_true", help="as a JSON array of objects")
    show.add_argument("--limit", type=int, default=50, help="rows at most; 0 for all (default 50)")

    demo = _verb(
        verbs,
        "demo",
        _demo,
        "the whole chain on a generated cluster month",
        "audit demo /tmp/demo --jobs 5000 --gpus 50",
    )
    demo.add_argument("folder", metavar="DIR", type=Path, help="the folder to make")
    demo.add_argument("--jobs", type=_count, default=20_000, help="jobs to submit (default 20,000)")
    demo.add_argument("--gpus", type=_count, default=100, help="GPUs of the cluster (default 100)")
    demo.add_argument("--days", type=_count, default=30, help="length of the window (default 30)")
    demo.add_argument("--seed", type=int, default=1, help="another seed, another month (default 1)")
    demo.add_argument(
        "--sampling",
        type=int,
        default=0,
        metavar="SECONDS",
        help="peaks as a sampler with this interval sees them",
    )
    demo.add_argument("--only-generate", action="store_true", help="stop once the evidence is written")
    return parser


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    verb: Verb,
    what: str,
    example: str,
    commands: str = "",
) -> argparse.ArgumentParser:
    epilog = f"example:\n  {example}"
    if commands:
        epilog += (
            f"\n\nrun at the site, in bash, as a user who may see every job, for each day of the window:\n\n{commands}"
        )
    parser = verbs.add_parser(
        name, help=what, description=what, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if name not in ("init", "demo"):
        parser.add_argument("--dir", type=Path, default=Path(), help="the engagement's folder (default: this one)")
    parser.set_defaults(verb=verb)
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expects a whole number above 0")
    return number


def _formats(text: str) -> tuple[str, ...]:
    asked = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in asked if name not in FORMATS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return asked


def _init(arguments: argparse.Namespace) -> ExitCode:
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


def _ingest(arguments: argparse.Namespace) -> ExitCode:
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


def _report(arguments: argparse.Namespace) -> ExitCode:
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
    for key in ("window.from", "window.to", "hours.held"):
        if key in report["reasons"]:
            say(f"audit: {report['reasons'][key]}")
    if not report["coverage"]["headline_allowed"]:
        say(f"audit: no headline: {report['coverage']['reason']}")
    return ExitCode.DONE


def _names(store: "Store", *, real_names: bool) -> "Pseudonyms":
    """What stands for each user; where it is the name itself, one line says so."""
    from audit.reporting.pseudonyms import pseudonyms

    if real_names:
        _say("audit: --real-names: users stand under their own names, not under pseudonyms")
    return pseudonyms(store.connection, store.workspace.root, real_names=real_names)


def _explain(arguments: argparse.Namespace) -> ExitCode:
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


def _compare(arguments: argparse.Namespace) -> ExitCode:
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


def _show(arguments: argparse.Namespace) -> ExitCode:
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


def _demo(arguments: argparse.Namespace) -> ExitCode:
    from audit.sample import ACCELERATORS, generate
    from audit.store import Options
    from audit.terminal import Progress
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
    return ExitCode.FAILED if failed else _reported(workspace)
