"""`audit status`: how each collector fares, and whether the window will be covered well enough."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.fleet.ansible import Reach, Told, ask
from audit.fleet.answer import Answer
from audit.fleet.deployment import Deployment
from audit.fleet.slice import Target

_YEAR_9999_S = 253_370_764_800
_MOST_TEXTS = 20  # of one node; a collector has a handful


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
            return "not reached" if self.answer.unreachable else "no answer"
        if not said.get("installed"):
            return "no collector"
        if said.get("alive"):
            return "watching"
        ended = self.answer.text("ended", 100) or "not running"
        return "window over" if ended == "window" else ended

    @property
    def lacking(self) -> bool:
        """Whether the node is known to carry no collector, though it should."""
        return self.answer.done and not self.answer.value.get("installed")

    @property
    def told(self) -> bool:
        """Whether the node's collector told how long it watched."""
        return self.projected is not None and not self.lacking

    @property
    def not_seen(self) -> tuple[str, ...]:
        """What the collector says it cannot measure there, NVML's failure first."""
        nvml = self.answer.text("nvml") or ""
        failed = (f"nvml: {nvml}",) if nvml.startswith("failed") else ()
        return (*failed, *self.answer.texts("degraded"))[:_MOST_TEXTS]

    @property
    def row(self) -> Mapping[str, Any]:
        """Its line of the table."""
        said = self.answer
        longest = max(said.records("gaps"), key=_length_s, default=None)
        return {
            "node": self.target.host,
            "state": self.state,
            "since": _utc(said.number("started_s")),
            "coverage": _percent(said.number("coverage")),
            "at the end": _percent(self.projected),
            "gaps": said.number("gap_count"),
            "longest": f"{_length_s(longest):.0f} s {longest.get('reason')}" if longest else None,
            "core %": _rounded(said.number("own_cpu_share"), 100, 3),
            "MiB": _rounded(said.number("own_rss_bytes"), 2**-20, 1),
            "written MiB": _rounded(said.number("own_written_bytes"), 2**-20, 1),
            "jobs": said.number("jobs_now"),
            "GPUs": said.number("gpus") or None,
            "free GiB": _rounded(said.number("disk_free_bytes"), 2**-30, 1),
        }


def watch(deployment: Deployment, reach: Reach, told: Told) -> list[Fared]:
    """Asks every collector; then come the planned hosts that got none."""
    targets = {target.host: target for target in deployment.targets}
    answers = ask("status", {host: {} for host in targets}, reach, told=told)
    now_s = time.time()
    without = {target.host: target for target in deployment.planned if target.host not in targets}
    answers |= {host: Answer(host, {"installed": False}) for host in without}
    targets |= without
    return [Fared(targets[host], a, projected(deployment, a, now_s)) for host, a in answers.items()]


def not_seen(fared: Sequence[Fared]) -> dict[str, list[str]]:
    """What is not measured -> the hosts on which it is not."""
    found: dict[str, list[str]] = {}
    for node in fared:
        for text in dict.fromkeys(node.not_seen):
            found.setdefault(text, []).append(node.target.host)
    return found


def projected(deployment: Deployment, said: Answer, now_s: float) -> float | None:
    """The share of the window that will have been watched: what was, plus what is left where it runs.

    0 where the node has no collector; None where it told nothing.
    """
    if said.value.get("installed") is False:
        return 0.0
    watched_s = said.number("watched_s")
    if watched_s is None:
        return None
    whole_s = deployment.window_to_s - deployment.window_from_s
    left_s = max(0.0, deployment.window_to_s - max(now_s, deployment.window_from_s)) if said.value.get("alive") else 0.0
    return min(1.0, max(0.0, watched_s + left_s) / whole_s)


def coverage_at_end(fared: Sequence[Fared]) -> float | None:
    """The mean over the nodes of which it is known, one without a collector being unwatched; None where of none."""
    nodes = [f.projected for f in fared if "node" in f.target.roles and f.projected is not None]
    return sum(nodes) / len(nodes) if nodes else None


def _length_s(gap: Mapping[str, Any]) -> float:
    try:
        return float(gap["to_s"]) - float(gap["from_s"])
    except (KeyError, TypeError, ValueError):
        return 0.0


def _rounded(value: float | None, factor: float, places: int) -> float | None:
    return None if value is None else round(value * factor, places)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _utc(at_s: float | None) -> str | None:
    return None if at_s is None or not 0 <= at_s < _YEAR_9999_S else time.strftime("%m-%d %H:%M", time.gmtime(at_s))
