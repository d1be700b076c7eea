"""The verb that judges the forecasts: `audit backtest`. What is heavy is imported inside."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from audit.errors import ExitCode

if TYPE_CHECKING:
    from audit.reporting.pseudonyms import Pseudonyms


def backtest(arguments: argparse.Namespace) -> ExitCode:
    """`audit backtest`: plays the window through in time order and scores the forecasts beside their rivals."""
    from audit.accounting.views import create_use_views
    from audit.reporting.coverage_svg import coverage_svg
    from audit.reporting.pseudonyms import pseudonyms
    from audit.reporting.write import write_files
    from audit.sizing.backtest import back_test, document, renamed, write
    from audit.sizing.cases import cases
    from audit.store import open_current
    from audit.terminal import Progress, print_json, say
    from audit.verbs.sizing import is_generated
    from audit.workspace import find_workspace

    workspace = find_workspace(arguments.dir)
    progress = Progress()
    progress.show("reading attempts")
    with open_current(workspace, say) as store:
        create_use_views(store.connection, workspace)
        known = cases(store.connection, at_start=arguments.mode == "start")
        names = pseudonyms(store.connection, workspace.root, real_names=arguments.real_names)
        generated = is_generated(workspace, store.connection)
    try:
        found = back_test(known, arguments.target or (), progress.show)
    finally:
        progress.done()
    told = document(found.scores, generated_sample=generated)
    if arguments.mode == "submit" and not arguments.target:
        write(told, workspace.models)
    plots = {f"backtest-{s['target']}.svg": coverage_svg(s, generated_sample=generated).encode() for s in found.scores}
    paths = write_files(arguments.out or workspace.out, plots)
    if arguments.json:
        print_json(renamed(told, lambda users: _shown(names, users)))
    else:
        for score in found.scores:
            _print(score)
        print("\n".join(str(path) for path in paths))
    for name, count in found.too_few.items():
        say(f"audit: {name}: not scored, it was measured in {count} finished attempts only")
    if arguments.mode != "submit" or arguments.target:
        say("audit: models/backtest.json stays as it is: it holds all targets, foreseen at the submit")
    if generated:
        say("audit: generated sample: this says nothing of a real cluster")
    return ExitCode.DONE


def _shown(names: "Pseudonyms", users: Sequence[str]) -> list[str]:
    import polars as pl

    return names.users(pl.Series(list(users), dtype=pl.String)).to_list()


def _print(score: Mapping[str, Any]) -> None:
    from audit.sizing.backtest_text import coverage_rows, equal_lines, heading, method_rows
    from audit.terminal import print_table

    print(heading(score))
    print()
    print_table(coverage_rows(score))
    print()
    print_table(method_rows(score))
    for line in equal_lines(score):
        print(line)
    print()
