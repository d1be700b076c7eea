"""The verb of the ongoing view: `audit recommend`. What is heavy is imported inside."""

import argparse
from collections.abc import Mapping
from typing import Any

from audit.errors import ExitCode


def recommend(arguments: argparse.Namespace) -> ExitCode:
    """`audit recommend`: the families to right-size, by dollars, and what changed since the last run."""
    from audit.accounting.figures import figures
    from audit.reporting.pseudonyms import pseudonyms
    from audit.reporting.recommend import limited, recommend, renamed
    from audit.reporting.recommend_earlier import keep_run, read_runs
    from audit.reporting.recommend_files import files
    from audit.reporting.write import write_files
    from audit.store import open_current
    from audit.terminal import Progress, print_json, say
    from audit.workspace import find_workspace

    workspace = find_workspace(arguments.dir)
    runs = read_runs(workspace.models, arguments.by)
    progress = Progress()
    progress.show("adding up hours and dollars")
    with open_current(workspace, say) as store:
        report = figures(store.connection, workspace)
        found, run = recommend(store.connection, report, by_user=arguments.by == "user", runs=runs)
        names = pseudonyms(store.connection, workspace.root, real_names=arguments.real_names)
    shown = renamed(found, names)
    few = limited(shown, arguments.limit)
    paths = write_files(arguments.out or workspace.out, files(shown, few, report))
    keep_run(workspace.models, run)
    progress.done()
    if arguments.json:
        print_json(few)
    else:
        _print(few)
        print("\n".join(str(path) for path in paths))
    if arguments.real_names:
        say("audit: --real-names: users stand under their own names, not under pseudonyms")
    if not found["headline_allowed"]:
        say(f"audit: of the measured part only: {report['coverage']['reason']}")
    if "abstained" in found["reasons"]:
        say(f"audit: {found['reasons']['abstained']}")
    if found["generated_sample"]:
        say("audit: generated sample: this says nothing of a real cluster")
    return ExitCode.DONE


def _print(found: Mapping[str, Any]) -> None:
    from audit.reporting.hostile import visible
    from audit.reporting.recommend_words import foot, gone_words, head, lower_table, raise_table
    from audit.terminal import print_table

    print(visible(head(found)))
    if found["lower"]:
        print_table(lower_table(found))
    for place, row in enumerate(found["lower"], start=1):
        print(f"{place}. {row['tell']}")
    if found["raise"]:
        print(f"\nto raise: {found['raise_families']:,}")
        print_table(raise_table(found))
    if found["no_longer"]:
        print("\nno longer to lower:")
        print_table(
            [{key: row[key] for key in ("family", "account")} | {"why": gone_words(row)} for row in found["no_longer"]]
        )
    for line in foot(found):
        print(visible(line))
