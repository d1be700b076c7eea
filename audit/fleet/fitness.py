"""What the checks found of each node, and whether it is fit for a collector."""

from collections.abc import Mapping
from typing import Any

from audit.fleet.answer import Answer
from audit.fleet.slice import Target

GIB = 2**30
LEAST_FREE_BYTES = GIB + GIB // 4  # below 1 GiB the collector pauses
MOST_SKEW_S = 60.0


def skew_s(answer: Answer) -> float | None:
    """How far the node's clock is off, at least: its time of the answer against the span in which it must lie.

    Seconds, positive where the node is ahead; 0 where its time lies within the span; None where it told no time.
    """
    now_s = answer.number("now_s")
    if now_s is None or not answer.ended_s:
        return None
    if now_s > answer.ended_s:
        return round(now_s - answer.ended_s, 1)
    return round(min(0.0, now_s - answer.started_s), 1)


def unfit(answer: Answer, cluster: str, engagement: str, *, take_over: bool) -> str:
    """Why the node gets no collector; empty where it is fit. `cluster` is the one of `audit.toml`."""
    found, off_s = answer.value, skew_s(answer)
    free = answer.number("disk_free_bytes")
    by_others = found.get("engagement") not in (None, engagement)
    reasons = {
        answer.error: bool(answer.error),
        "needs root there: --become, or become under [fleet]": not found.get("root"),
        "no systemd and no /etc/init.d: nothing would start it after a reboot": not found.get("init"),
        f"{(free or 0) / GIB:.1f} GiB free in /var/lib, needs {LEAST_FREE_BYTES / GIB:g}": free is not None
        and free < LEAST_FREE_BYTES,
        f"its clock is off by {off_s} s, at most {MOST_SKEW_S:g} may be": abs(off_s or 0) > MOST_SKEW_S,
        f"it is of the cluster {answer.text('cluster')!r}, audit.toml says {cluster!r}": found.get("cluster")
        not in (None, cluster),
        f"{answer.text('by', 99) or 'others'} has a collector there: their teardown, or --take-over": by_others
        and not take_over,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def row(answer: Answer, target: Target, why: str) -> Mapping[str, Any]:
    """One line of the table of checks."""
    free = answer.number("disk_free_bytes")
    return {
        "node": target.host,
        "roles": "+".join(target.roles),
        "fit": "no" if why else "yes",
        "python": answer.text("python", 60),
        "free GiB": round(free / GIB, 1) if free is not None else None,
        "skew s": skew_s(answer),
        "cgroup": answer.text("cgroup_layout", 60),
        "driver": answer.text("nvidia_driver", 60),
        "gpus": answer.number("gpus"),
        "slurm": answer.text("slurm_version", 60),
        "starts by": answer.text("init", 60),
        "collector": answer.text("collector", 60) if answer.value.get("installed") else None,
        "why not": why or None,
    }
