"""`audit status`: how each collector fares, and whether the window will be covered well enough."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.fleet.ansible import Answer, Reach, Told, ask
from audit.fleet.deployment import Deployment
from audit.fleet.slice import Target


@dataclass(frozen=True)
class Fared:
    """One node: its answer, and what can be said of its share of the window.

    `projected` is the share of the window watched at its end if the node stays as it is (NULL where it told nothing).
    """

    target: Target
    answer: Answer
    projected: float | None

    @property
    def state(self) -> str:
        """In a word or two."""
        said = self.answer.value
        if not self.answer.done:
            return "not reached" if self.answer.unreachable else self.answer.error
        if not said.get("installed"):
            return "not installed"
        if said.get("alive"):
            return "watching"
        return {"window": "window over"}.get(str(said.get("ended")), str(said.get("ended") or "not running"))

    @property
    def row(self) -> Mapping[str, Any]:
        """Its line of the table."""
        said = self.answer.value
        longest = max(said.get("gaps") or (), key=_length_s, default=None)
        return {
            "node": self.target.host,
            "state": self.state,
            "since": _utc(said.get("started_s")),
            "coverage": _percent(said.get("coverage")),
            "at the end": _percent(self.projected),
            "gaps": said.get("gap_count"),
            "longest": f"{_length_s(longest):.0f} s {longest.get('reason')}" if longest else None,
            "core %": _rounded(said.get("own_cpu_share"), 100, 3),
            "MiB": _rounded(said.get("own_rss_bytes"), 2**-20, 1),
            "written MiB": _rounded(said.get("own_written_bytes"), 2**-20, 1),
            "jobs": said.get("jobs_now"),
            "free GiB": _rounded(said.get("disk_free_bytes"), 2**-30, 1),
            "not seen": "; ".join(map(str, said.get("degraded") or ())) or None,
        }


def watch(deployment: Deployment, reach: Reach, told: Told) -> list[Fared]:
    """Asks every collector."""
    targets = {target.host: target for target in deployment.targets}
    answers = ask("status", {host: {} for host in targets}, reach, told=told)
    now_s = time.time()
    return [Fared(targets[host], a, projected(deployment, a.value, now_s)) for host, a in answers.items()]


def projected(deployment: Deployment, said: Mapping[str, Any], now_s: float) -> float | None:
    """The share of the window that will have been watched: what was, plus what is left where it runs."""
    watched_s = said.get("watched_s")
    if not isinstance(watched_s, int | float):
        return None
    whole_s = deployment.window_to_s - deployment.window_from_s
    left_s = max(0.0, deployment.window_to_s - max(now_s, deployment.window_from_s)) if said.get("alive") else 0.0
    return min(1.0, (watched_s + left_s) / whole_s)


def coverage_at_end(fared: list[Fared]) -> float | None:
    """The mean over all watched nodes, a node that told nothing counting as unwatched; None without a node."""
    nodes = [f.projected or 0.0 for f in fared if "node" in f.target.roles]
    return sum(nodes) / len(nodes) if nodes else None


def _length_s(gap: Mapping[str, Any]) -> float:
    try:
        return float(gap["to_s"]) - float(gap["from_s"])
    except (KeyError, TypeError, ValueError):
        return 0.0


def _rounded(value: object, factor: float, places: int) -> float | None:
    return round(value * factor, places) if isinstance(value, int | float) else None


def _percent(share: object) -> str | None:
    return f"{share:.1%}" if isinstance(share, int | float) else None


def _utc(at_s: object) -> str | None:
    return time.strftime("%m-%d %H:%M", time.gmtime(at_s)) if isinstance(at_s, int | float) else None
