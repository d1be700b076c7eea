"""`audit deploy`: checks each node, then installs the collector where it is fit and not there already."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.errors import UsageError
from audit.fleet import fitness
from audit.fleet.ansible import Reach, Told, ask
from audit.fleet.answer import Answer
from audit.fleet.deployment import Deployment, load, new_engagement, save, who, window
from audit.fleet.program import collector_hash
from audit.fleet.slice import Target, targets
from audit.workspace import CONFIG_NAME, Workspace

FORMAT = 1


@dataclass(frozen=True)
class Checked:
    """A node as the checks found it; `unfit` says why it gets no collector, empty where it is fit."""

    target: Target
    answer: Answer
    unfit: str

    @property
    def row(self) -> Mapping[str, Any]:
        """Its line of the table."""
        return fitness.row(self.answer, self.target, self.unfit)


@dataclass(frozen=True)
class Installed:
    """What became of a fit node: `error` where it has no running collector now."""

    host: str
    changed: bool
    written: tuple[str, ...]
    error: str


def check(workspace: Workspace, reach: Reach, *, days: float | None, take_over: bool, told: Told) -> list[Checked]:
    """Each node of the slice and the controller, checked; nothing stays there.

    UsageError, before any node is asked, where the window is over.
    """
    known = load(workspace)
    window(workspace, _running(known), days)
    engagement = known.engagement if known else ""
    asked = {target.host: target for target in targets(workspace, reach)}
    requests = {host: {"controller": "controller" in target.roles} for host, target in asked.items()}
    answers = ask("check", requests, reach, told=told)
    cluster = workspace.config.cluster
    return [
        Checked(asked[host], answer, fitness.unfit(answer, cluster, engagement, take_over=take_over))
        for host, answer in answers.items()
    ]


def install(
    workspace: Workspace,
    checked: Sequence[Checked],
    reach: Reach,
    *,
    days: float | None,
    take_over: bool,
    told: Told,
) -> tuple[Deployment, list[Installed]]:
    """Installs on the fit nodes, under the folder's lock, which the caller holds.

    What is about to carry a collector is written down first, so that teardown knows it. UsageError, and nothing is
    installed anywhere, where the controller is another cluster's.
    """
    refuse_other_cluster(workspace, checked)
    earlier = load(workspace)
    running = _running(earlier)
    from_s, to_s = window(workspace, running, days)
    fit = [node.target for node in checked if not node.unfit]
    known = {target.host: target for target in (running.targets if running else ())}
    deployment = Deployment(
        engagement=earlier.engagement if earlier else new_engagement(),
        window_from_s=from_s,
        window_to_s=to_s,
        by=who(),
        at_s=time.time(),
        collector_sha256=collector_hash(),
        targets=tuple((known | {target.host: target for target in fit}).values()),
        days_done=running.days_done if running else (),
        planned=tuple((known | {node.target.host: node.target for node in checked}).values()),
    )
    if fit:
        save(workspace, deployment)
    requests = {target.host: _request(workspace, deployment, target, take_over) for target in fit}
    answers = ask("deploy", requests, reach, told=told)
    return deployment, [Installed(a.host, a.changed, a.texts("written"), a.error) for a in answers.values()]


def refuse_other_cluster(workspace: Workspace, checked: Sequence[Checked]) -> None:
    """UsageError where the controller says that it is of another cluster than `audit.toml` does."""
    for node in checked:
        name = node.answer.text("cluster", 99)
        if "controller" in node.target.roles and name not in (None, workspace.config.cluster):
            raise UsageError(
                f"the controller {node.target.host} is of the cluster {name!r}, `cluster` here is "
                f"{workspace.config.cluster!r}; nothing is installed",
                where=str(workspace.root.absolute() / CONFIG_NAME),
                remedy="set `cluster` to the first, or fleet.controller to the right machine",
            )


def _running(known: Deployment | None) -> Deployment | None:
    """What is deployed, as far as a collector of it may still run."""
    return known if known and known.targets else None


def _request(workspace: Workspace, deployment: Deployment, target: Target, take_over: bool) -> Mapping[str, Any]:
    fleet = workspace.config.fleet
    return {
        "who": deployment.by,
        "engagement": deployment.engagement,
        "take_over": take_over,
        "window": {
            "format": FORMAT,
            "cluster": workspace.config.cluster,
            "node": target.node,
            "roles": list(target.roles),
            "from_s": deployment.window_from_s,
            "to_s": deployment.window_to_s,
            "sample_s": fleet.sample_s,
            "interval_s": fleet.interval_s,
        },
    }
