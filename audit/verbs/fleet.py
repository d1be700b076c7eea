"""The verbs of the measurement window: `deploy`, `status`, `collect`, `teardown`."""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from audit.errors import AuditError, ExitCode

if TYPE_CHECKING:
    from audit.fleet.accounting import Asked
    from audit.fleet.ansible import Reach
    from audit.fleet.collect import Fetched
    from audit.fleet.deployment import Deployment
    from audit.fleet.watch import Fared
    from audit.workspace import Workspace

# What a node's collector says of itself, as `status --json` hands it on: null where it said nothing.
SAID = tuple(
    "installed engagement version node roles alive pid started_s now_s window_from_s window_to_s ended watched_s "
    "expected_s coverage gaps gap_count own_cpu_share own_rss_bytes own_written_bytes late_max_s missed jobs_now gpus "
    "nvml dcgm degraded spool_bytes disk_free_bytes segments_closed".split()
)


def deploy(arguments: argparse.Namespace) -> ExitCode:
    """`audit deploy`: checks the slice's nodes and puts the collector on those that are fit."""
    from audit.fleet import deploy as deploying
    from audit.fleet.deployment import locked
    from audit.terminal import print_json, print_table, say

    workspace = _workspace(arguments)
    reach = _reach(arguments, workspace)
    with nullcontext() if arguments.check else locked(workspace):
        checked = deploying.check(
            workspace, reach, days=arguments.days, take_over=arguments.take_over, told=_told("check")
        )
        unfit = [node for node in checked if node.unfit]
        if not arguments.json:
            print_table([node.row for node in checked])
        if arguments.check:
            if arguments.json:
                print_json([node.row for node in checked])
            for node in unfit:
                say(f"audit: {node.target.host}: {node.unfit}")
            return _exit(len(unfit), len(checked))
        deployment, installed = deploying.install(
            workspace, checked, reach, days=arguments.days, take_over=arguments.take_over, told=_told("deploy")
        )
    failed = {node.host: node.error for node in installed if node.error} | {n.target.host: n.unfit for n in unfit}
    if arguments.json:
        window = {"window_from_s": deployment.window_from_s, "window_to_s": deployment.window_to_s}
        print_json({"checks": [n.row for n in checked], "installed": [asdict(n) for n in installed], **window})
    else:
        changed = sum(node.changed for node in installed)
        good = len(checked) - len(failed)
        print(f"{good} of {len(checked)} carry a running collector, changed={changed}")
        print(f"the window: {_utc(deployment.window_from_s)} to {_utc(deployment.window_to_s)}")
    for host, why in failed.items():
        say(f"audit: {host}: {why}")
    return _exit(len(failed), len(checked))


def status(arguments: argparse.Namespace) -> ExitCode:
    """`audit status`: how each collector fares; with `--watch` again and again, until interrupted."""
    workspace = _workspace(arguments)
    reach = _reach(arguments, workspace)
    while True:
        done = _status(arguments, workspace, reach)
        if arguments.watch is None:
            return done
        time.sleep(arguments.watch)


def _status(arguments: argparse.Namespace, workspace: "Workspace", reach: "Reach") -> ExitCode:
    from audit.fleet.deployment import deployed
    from audit.fleet.watch import coverage_at_end, not_seen, watch
    from audit.reporting.hostile import visible
    from audit.terminal import print_json, print_table, say

    deployment = deployed(workspace)
    fared = watch(deployment, reach, _told("status"))
    share, floor = coverage_at_end(fared), workspace.config.policy.coverage_floor
    left_s = max(0.0, deployment.window_to_s - time.time())
    nodes = [node for node in fared if "node" in node.target.roles]
    asked, lacking = sum(node.told for node in nodes), sum(node.lacking for node in nodes)
    if arguments.json:
        print_json(
            {
                "window_from_s": deployment.window_from_s,
                "window_to_s": deployment.window_to_s,
                "left_s": left_s,
                "coverage_at_end": share,
                "nodes_asked": asked,
                "nodes_planned": len(nodes),
                "coverage_floor": floor,
                "will_be_met": None if share is None else share >= floor,
                "nodes": [_node(node) for node in fared],
            }
        )
    else:
        if arguments.watch is not None and sys.stdout.isatty():
            print("\x1b[H\x1b[2J", end="")
        print_table([node.row for node in fared])
        for text, hosts in not_seen(fared).items():
            print(visible(f"not seen: {text} ({', '.join(hosts)})", 2000))
        print(f"the window: {_utc(deployment.window_from_s)} to {_utc(deployment.window_to_s)}, {_left(left_s)} left")
        if share is not None:
            verdict = "will be met" if share >= floor else "will NOT be met"
            print(f"watched at its end, if all goes on as now: {share:.1%}; the floor of {floor:.0%} {verdict}")
        unwatched = f"; {lacking} without a collector count as unwatched" if lacking else ""
        print(f"{asked} of {len(nodes)} nodes asked{unwatched}")
    wrong = {
        node.target.host: node.answer.error or "no collector is there; `audit deploy` says why, or puts one there"
        for node in fared
        if node.lacking or not node.answer.done
    }
    for host, why in wrong.items():
        say(f"audit: {host}: {why}")
    done = _exit(sum(not node.answer.done for node in fared), len(fared))
    return ExitCode.PARTLY_DONE if wrong and done is ExitCode.DONE else done


def _node(node: "Fared") -> Mapping[str, Any]:
    return {
        "host": node.target.host,
        "state": node.state,
        "error": node.answer.error or None,
        "coverage_at_end": node.projected,
        **{key: node.answer.value.get(key) for key in SAID},
    }


def collect(arguments: argparse.Namespace) -> ExitCode:
    """`audit collect`: brings home what is new, and ingests it."""
    from audit.fleet.accounting import Asked, days_due
    from audit.fleet.collect import fetch
    from audit.fleet.deployment import deployed, locked
    from audit.store import Options
    from audit.terminal import print_json, print_table, say
    from audit.verbs.engagement import ingested

    workspace = _workspace(arguments)
    reach = _reach(arguments, workspace)
    with locked(workspace):
        deployment = deployed(workspace, or_was=True)
        if not deployment.targets:
            rest = len(days_due(deployment, time.time()))
            say(f"audit: the window is torn down; days whose accounting is not complete: {rest}")
        fetched = fetch(workspace, deployment.targets, reach, _told("collect"))
        asked = Asked() if arguments.telemetry_only else _accounting(workspace, deployment, reach)[1]
        results = ingested(workspace, [], Options())
    if arguments.json:
        parts = {"telemetry": [asdict(f) for f in fetched], "accounting": asdict(asked)}
        print_json({**parts, "ingested": [asdict(r) for r in results]})
    else:
        if fetched:
            print_table([_fetched_row(f) for f in fetched])
        came = sum(r.attempts for r in results)
        print(f"accounting: {len(asked.files)} files, {came} attempts; ingested {len(results)} files")
    failed = [f"{f.host}: {f.error}" for f in fetched if f.error]
    for line in dict.fromkeys((*failed, *asked.errors)):
        say(f"audit: {line}")
    wrong = len(failed) + len(asked.errors) + sum(bool(r.error) for r in results)
    return _exit(wrong, wrong + 1 if any(not f.error for f in fetched) or asked.files else wrong)


def _fetched_row(fetched: "Fetched") -> Mapping[str, Any]:
    return {
        "node": fetched.host,
        "new segments": fetched.segments,
        "MiB": round(fetched.bytes / 2**20, 2),
        "here before": fetched.known,
        "state": "not reached" if fetched.unreachable else "failed" if fetched.error else "done",
    }


def _accounting(workspace: "Workspace", deployment: "Deployment", reach: "Reach") -> "tuple[Deployment, Asked]":
    """Asks the controller and writes down which days are complete; nothing is asked of a window gone that is whole."""
    from audit.fleet.accounting import Asked, days_due, fetch_accounting
    from audit.fleet.deployment import save

    if not deployment.targets and not days_due(deployment, time.time()):
        return deployment, Asked()
    asked = fetch_accounting(workspace, deployment, reach, _told("accounting"))
    deployment = replace(deployment, days_done=tuple(sorted({*deployment.days_done, *asked.days_done})))
    save(workspace, deployment)
    return deployment, asked


def teardown(arguments: argparse.Namespace) -> ExitCode:
    """`audit teardown`: takes everything away, and proves it."""
    from audit.fleet.accounting import Asked, days_due
    from audit.fleet.deployment import deployed, locked
    from audit.fleet.teardown import teardown as take_away
    from audit.store import Options
    from audit.terminal import print_json, print_table, say
    from audit.verbs.engagement import ingested

    workspace = _workspace(arguments)
    reach = _reach(arguments, workspace)
    with locked(workspace):
        deployment, asked = deployed(workspace), Asked()
        if not arguments.discard and days_due(deployment, time.time()):
            try:
                deployment, asked = _accounting(workspace, deployment, reach)
            except AuditError as failed:  # whatever became of it, the collectors go
                asked = Asked(errors=(str(failed),))
        removed = take_away(
            workspace,
            deployment,
            reach,
            discard=arguments.discard,
            take_over=arguments.take_over,
            told=_told("teardown"),
        )
        ingested(workspace, [], Options())  # the last segments, brought home on the way
    if arguments.json:
        print_json([{**asdict(node), "clean": node.clean} for node in removed])
    else:
        print_table([{"node": n.host, "clean": "yes" if n.clean else "no", "left": _listed(n.left)} for n in removed])
    left = [f"{n.host}: {n.error or 'left there: ' + ', '.join(n.left)}" for n in removed if not n.clean]
    for line in dict.fromkeys((*left, *asked.errors[:1])):
        say(f"audit: {line}")
    done = _exit(len(left), len(removed))
    return ExitCode.PARTLY_DONE if asked.errors and done is ExitCode.DONE else done


def _workspace(arguments: argparse.Namespace) -> "Workspace":
    from audit.workspace import find_workspace

    return find_workspace(arguments.dir)


def _reach(arguments: argparse.Namespace, workspace: "Workspace") -> "Reach":
    from audit.fleet.ansible import Reach

    fleet = workspace.config.fleet
    return Reach(
        inventory=workspace.root / fleet.inventory if fleet.inventory else None,
        folder=workspace.root,
        python=fleet.python,
        local=frozenset({"localhost"}),
        become=arguments.become or bool(fleet.become),
        become_method=arguments.become_method,
        user=arguments.user,
        forks=arguments.forks,
        ssh_common_args=arguments.ssh_common_args,
    )


def _told(step: str) -> Any:
    from audit.terminal import say

    if not sys.stderr.isatty():
        return lambda host, what: None
    return lambda host, what: say(f"{step}: {host}: {what}")


def _exit(failed: int, of: int) -> ExitCode:
    if not failed:
        return ExitCode.DONE
    return ExitCode.PARTLY_DONE if failed < of else ExitCode.FAILED


def _listed(items: Iterable[str]) -> str | None:
    return ", ".join(items) or None


def _utc(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"


def _left(left_s: float) -> str:
    days, hours = divmod(int(left_s // 3600), 24)
    return f"{days} days {hours} h" if days else f"{hours} h {int(left_s % 3600 // 60)} min"
