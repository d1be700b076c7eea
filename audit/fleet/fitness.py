"""What the checks found of each node, and whether it is fit for a collector."""

from collections.abc import Mapping
from typing import Any

from audit.fleet.ansible import Answer
from audit.fleet.slice import Target

GIB = 2**30
LEAST_FREE_BYTES = GIB + GIB // 4  # below 1 GiB the collector pauses
MOST_SKEW_S = 60.0


def skew_s(answer: Answer) -> float | None:
    """How far the node's clock is off, at least: its time of the answer against the span in which it must lie.

    Seconds, positive where the node is ahead; 0 where its time lies within the span; None where it told no time.
    """
    now_s = answer.value.get("now_s")
    if not isinstance(now_s, int | float) or not answer.ended_s:
        return None
    if now_s > answer.ended_s:
        return round(now_s - answer.ended_s, 1)
    return round(min(0.0, now_s - answer.started_s), 1)


def unfit(answer: Answer, cluster: str, engagement: str, *, take_over: bool) -> str:
    """Why the node gets no collector; empty where it is fit. `cluster` is the one of `audit.toml`."""
    found, off_s = answer.value, skew_s(answer)
    free = found.get("disk_free_bytes")
    by_others = found.get("engagement") not in (None, engagement)
    reasons = {
        answer.error: bool(answer.error),
        "needs root there: --become, or become under [fleet]": not found.get("root"),
        "no systemd and no /etc/init.d: nothing would start it after a reboot": not found.get("init"),
        f"{(free or 0) / GIB:.1f} GiB free in /var/lib, needs {LEAST_FREE_BYTES / GIB:g}": isinstance(free, int)
        and free < LEAST_FREE_BYTES,
        f"its clock is off by {off_s} s, at most {MOST_SKEW_S:g} may be": abs(off_s or 0) > MOST_SKEW_S,
        f"it is of the cluster {found.get('cluster')!r}, audit.toml says {cluster!r}": found.get("cluster")
        not in (None, cluster),
        f"{found.get('by') or 'another engagement'} has a collector there: their teardown, or --take-over": by_others
        and not take_over,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def row(answer: Answer, target: Target, why: str) -> Mapping[str, Any]:
    """One line of the table of checks."""
    found = answer.value
    free = found.get("disk_free_bytes")
    gpus = found.get("gpus")
    return {
        "node": target.host,
        "roles": "+".join(target.roles),
        "fit": "no" if why else "yes",
        "python": _text(found.get("python")),
        "free GiB": round(free / GIB, 1) if isinstance(free, int) else None,
        "skew s": skew_s(answer),
        "cgroup": _text(found.get("cgroup_layout")),
        "driver": _text(found.get("nvidia_driver")),
        "gpus": len(gpus) if isinstance(gpus, list) else gpus if isinstance(gpus, int) else None,
        "slurm": _text(found.get("slurm_version")),
        "starts by": _text(found.get("init")),
        "collector": _text(found.get("collector")) if found.get("installed") else None,
        "why not": why or None,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:60]
