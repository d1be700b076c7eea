"""When nodes were not simply up, and `sacctmgr show event` of it."""

from dataclasses import dataclass

import numpy as np

from audit.sample import calibration as cal
from audit.sample.cluster import Cluster


@dataclass(frozen=True)
class Outage:
    """One spell of one node. DOWN* ends what runs; MAINT was announced; DRAIN lets jobs run out. Epochs."""

    node: int
    start: int
    end: int
    state: str
    reason: str
    user: str


_DOWN_REASONS = ("Not responding", "Kernel panic", "Node unexpectedly rebooted", "power supply")
_DRAIN_REASONS = ("ECC errors", "health check: scratch full", "NHC: mount /data hangs", "replace fan 3")


def draw(cluster: Cluster, start: int, end: int, rng: np.random.Generator) -> list[Outage]:
    """Outages between two epochs, in order of time; a node has at most one at a time."""
    spells = _maintenance(cluster, end)
    taken: dict[int, list[tuple[int, int]]] = {}
    for spell in spells:
        taken.setdefault(spell.node, []).append((spell.start, spell.end))
    for state, every_s, median_s, reasons, user in (
        ("DOWN*", cal.DOWN_EVERY_S, cal.DOWN_FOR_S, _DOWN_REASONS, "slurm(64030)"),
        ("DRAIN", cal.DRAIN_EVERY_S, cal.DRAIN_FOR_S, _DRAIN_REASONS, "root(0)"),
    ):
        expected = len(cluster.node_names) * (end - start) / every_s
        for _ in range(max(2, int(rng.poisson(expected)))):
            node = int(rng.integers(len(cluster.node_names)))
            from_time = int(rng.integers(start, end))
            to_time = from_time + max(600, int(median_s * rng.lognormal(0, 0.8)))
            reason = str(rng.choice(reasons))
            if all(to_time + 3600 < a or from_time > b + 3600 for a, b in taken.get(node, [])):
                taken.setdefault(node, []).append((from_time, to_time))
                spells.append(Outage(node, from_time, to_time, state, reason, user))
    return sorted(spells, key=lambda spell: (spell.start, spell.node))


def _maintenance(cluster: Cluster, end: int) -> list[Outage]:
    """A quarter of every class of four nodes or more, from eight in the morning ten days before the end."""
    start = end - 10 * 86400 + 8 * 3600
    return [
        Outage(node, start, start + cal.MAINTENANCE_FOR_S, "MAINT", "firmware", "root(0)")
        for nodes in cluster.nodes
        for node in nodes[len(nodes) - len(nodes) // 4 :]
    ]


def events_text(outages: list[Outage], cluster: Cluster, window_from: int, window_to: int) -> str:
    """`sacctmgr show event -P` over the window, epoch times; what is still so then has TimeEnd `Unknown`."""
    lines = ["Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"]
    for spell in outages:
        if spell.end > window_from and spell.start < window_to:
            until = "Unknown" if spell.end >= window_to else str(spell.end)
            name = cluster.node_names[spell.node]
            lines.append(f"{cal.CLUSTER}|{name}|{spell.start}|{until}|{spell.state}|{spell.reason}|{spell.user}")
    return "\n".join(lines) + "\n"
