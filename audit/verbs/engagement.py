"""The verbs that make an engagement and fill it: `init`, `ingest`, `show`, `demo`."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audit.errors import ExitCode, NoReportError, UsageError

if TYPE_CHECKING:
    from audit.store import FileResult, Options
    from audit.workspace import Workspace

WORKED_OUT = frozenset("allocation usage gpu_map telemetry_coverage collector_overhead unattributed".split())


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
    print(f"{workspace.root}/audit.toml is made; next: audit ingest --dir {workspace.root} FILE…, or audit deploy")
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
    results = ingested(find_workspace(arguments.dir), arguments.files, Options(columns, delimiter))
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


def ingested(workspace: "Workspace", files: Sequence[str], options: "Options") -> "list[FileResult]":
    """Ingests, with progress and each failure on standard error; one result a file."""
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
        elif result.rejects and not result.attempts + result.steps + result.nodes + result.node_states + result.samples:
            why = f"none of its {result.rejects} records could be read: {result.first_reject}"
            aside(f"audit: {result.name}: {why}; see `audit show reject`, check --columns and --delimiter")
        elif result.other_cluster and not result.attempts + result.steps + result.node_states + result.samples:
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
        "samples": result.samples,
        "rejected": result.rejects,
        "other cluster": result.other_cluster,
    }


def show(arguments: argparse.Namespace) -> ExitCode:
    """`audit show`: prints one table."""
    from audit.accounting.views import create_use_views, create_window_views
    from audit.store import open_current
    from audit.terminal import print_json_rows, print_table, say
    from audit.workspace import find_workspace

    workspace = find_workspace(arguments.dir)
    with open_current(workspace, say) as store:
        if arguments.table in WORKED_OUT:
            create_use_views(store.connection, workspace)
            create_window_views(store.connection)
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
    from audit.verbs.report import reported
    from audit.verbs.sizing import train_in
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
    failed = [r for r in ingested(workspace, [], Options(generated=True)) if r.error]
    if failed:
        return ExitCode.FAILED
    try:
        train_in(workspace)
    except NoReportError as too_few:
        say(f"audit: {too_few}")
    return reported(workspace)
