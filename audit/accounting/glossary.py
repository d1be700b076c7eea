"""The table of figures: what each figure of report.json is called, and which rows stand behind it.

What a figure means and its unit stand once, in `report.schema.json`. `audit explain` opens a figure with the rows.
"""

from collections.abc import Iterator
from dataclasses import replace

from audit.accounting.figure import MEMBERS, Figure, Scale, Take, described, schema

__all__ = ["FIGURES", "MEMBERS", "Figure", "described", "schema"]


def _per_month(figures: Iterator[Figure]) -> Iterator[Figure]:
    for figure in figures:
        yield figure
        yield replace(figure, key=f"{figure.key}_per_month", label=f"{figure.label}, a month", scale="month")


_HOURS = {"core_hours": "Core-hours held", "gpu_hours": "GPU-hours held", "mem_gib_hours": "GiB-hours held"}
_BUCKETS = {
    "held_usd": "Held by jobs",
    "used_usd": "Used",
    "kept_usd": "Kept",
    "not_measured_usd": "Not measured",
    "lost_usd": "Lost",
    "recoverable_usd": "Recoverable, at most",
}
_NODES_USD = {
    "installed_usd": "Installed",
    "down_usd": "Down",
    "capacity_usd": "Capacity",
    "idle_usd": "Idle",
    "idle_reserved_usd": "Idle, reserved",
}
_GIVEN_UP = {"gpus": "GPU counts", "memory": "memory requests", "cores": "core counts"}
_UNITS = {"core": ("core_hours", "cores"), "gpu": ("gpu_hours", "GPUs"), "mem_gib": ("mem_gib_hours", "memory")}


def _cost() -> Iterator[Figure]:
    for key, label in _NODES_USD.items():
        yield Figure(f"cost.{key}", label, "nodes", f"{key.removesuffix('_usd')}:usd")
    for key, label in list(_BUCKETS.items())[:5]:
        yield Figure(f"cost.{key}", label, "attempts", key)


def _recoverable() -> Iterator[Figure]:
    yield Figure("recoverable.high_usd", "Recoverable, at most", "attempts", "recoverable_usd")
    yield Figure("recoverable.contended_usd", "Recoverable and queued for", "contended", "usd:high")
    yield Figure("recoverable.expected_contended_usd", "Expected and queued for", "contended", "usd:expected")
    for key, label, measure in (
        ("expected_usd", "Recoverable, expected", "net_usd:expected"),
        ("low_usd", "Recoverable, cautious", "net_usd:low"),
        ("expected_gross_usd", "Recoverable before reruns", "gross_usd:expected"),
        ("reruns_usd", "Reruns of killed attempts", "reruns_usd:expected"),
    ):
        yield Figure(f"recoverable.{key}", label, "advice", measure)


def _advice() -> Iterator[Figure]:
    counts = {"of": "Attempts advised to ask for less", "killed": "Attempts killed", "slowed": "Attempts slowed"}
    yield Figure("recoverable.quantile", "Quantile advised at", stated="stated as policy.quantile in audit.toml")
    for key, label in (
        ("killed", counts["killed"]),
        ("by_memory", "Killed by memory"),
        ("of_memory", "Attempts advised to ask for less memory"),
        ("by_gpus", "Killed by GPUs"),
        ("of_gpus", "Attempts advised to ask for fewer GPUs"),
    ):
        yield Figure(f"recoverable.kills.{key}", label, "advice", f"{key}:expected")
    for key in ("killed", "of"):
        yield Figure(f"recoverable.low_kills.{key}", f"{counts[key]}, cautious", "advice", f"{key}:low")
    for table in ("kills", "slowed"):
        yield Figure(f"recoverable.{table}.of", counts["of"], "advice", "of:expected")
    yield Figure("recoverable.slowed.slowed", counts["slowed"], "advice", "slowed:expected")
    yield Figure("recoverable.abstained.attempts", "Attempts without advice", "abstained", "attempts")
    yield Figure("recoverable.abstained.missing", "Attempts that the replay lacks", "abstained", "missing")
    yield Figure("recoverable.abstained.of", "Attempts", "attempts", "attempts")
    yield Figure("recoverable.abstained.usd", "Held by attempts without advice", "abstained", "usd")
    for key, label in (
        ("gross_usd", "Recoverable before reruns"),
        ("reruns_usd", "Reruns of killed attempts"),
        ("net_usd", "Recoverable less reruns"),
        *counts.items(),
    ):
        yield Figure(f"recoverable.sensitivity.*.{key}", label, "advice", key)
    yield Figure("families.*.expected_usd", "Recoverable, expected", "advice", "net_usd:expected")
    for key, label in counts.items():
        yield Figure(f"families.*.{key}", label, "advice", f"{key}:expected")
    by_resource = Figure("recoverable_by_resource.*.expected_usd", "Expected", "advice", "resource_usd:expected")
    yield from _per_month(iter([by_resource]))
    yield Figure("recoverable_by_resource.*.killed", counts["killed"], "advice", "resource_killed:expected")
    yield Figure("recoverable_by_resource.*.of", counts["of"], "advice", "resource_of:expected")


def _of_recoverable() -> Iterator[Figure]:
    for key, measure in (("nodes", "hours"), ("gpus", "gpu"), ("cores", "core")):
        label = f"Freed {key.replace('gpus', 'GPUs')}"
        yield Figure(f"recoverable.freed_{key}", label, "nodes", f"recoverable:{measure}", scale="observed hours")
        expected = f"recoverable.expected_freed_{key}"
        yield Figure(expected, f"{label}, expected", "nodes", f"expected:{measure}", scale="observed hours")
    for table, measure in (("sampling", "recoverable_usd"), ("expected_sampling", "expected_usd")):
        yield Figure(f"recoverable.{table}.low_usd", "Sampling error, 5 %", "days", measure, "spread")
        yield Figure(f"recoverable.{table}.high_usd", "Sampling error, 95 %", "days", measure, "spread")
        yield Figure(f"recoverable.{table}.days", "Days drawn from", "days", "days")
        yield Figure(f"recoverable.{table}.resamples", "Draws of days", stated="a constant of the program")
    for key, label, measure in (
        ("nodes", "Nodes", "nodes"),
        ("installed_hours", "Node-hours installed", "installed:hours"),
        ("held_hours", "Node-hours held", "held:hours"),
        ("recoverable_hours", "Node-hours recoverable", "recoverable:hours"),
        ("recoverable_gpu_hours", "GPU-hours recoverable", "recoverable:gpu"),
        ("recoverable_core_hours", "Core-hours recoverable", "recoverable:core"),
        ("recoverable_usd", "Recoverable, at most", "recoverable:usd"),
        ("expected_hours", "Node-hours expected", "expected:hours"),
        ("expected_gpu_hours", "GPU-hours expected", "expected:gpu"),
        ("expected_core_hours", "Core-hours expected", "expected:core"),
        ("expected_usd", "Recoverable, expected", "expected:usd"),
    ):
        yield Figure(f"recoverable.by_class.*.{key}", label, "nodes", measure)
    scales: tuple[tuple[str, str, Scale], ...] = (
        ("low", "lowest", "low price"),
        ("list", "list", "list price"),
        ("high", "highest", "high price"),
    )
    for end, name, scale in scales:
        key = f"recoverable.by_class.*.{end}_recoverable_usd"
        yield Figure(key, f"Recoverable at the {name} price", "nodes", "recoverable:usd", scale=scale)
    stated = "prices[].source says how it was reckoned and from what"
    yield Figure("recoverable.by_class.*.usd_per_hour", "Price of a node", stated=stated)
    yield from _per_month(iter([Figure("recoverable_by_resource.*.usd", "Recoverable", "attempts", "given_up_usd")]))
    yield Figure("recoverable_by_resource.*.attempts", "Attempts that gave some up", "attempts", "given_up")
    yield Figure("recoverable_by_resource.*.families", "Families that gave some up", "families", "given_up")


def _coverage() -> Iterator[Figure]:
    yield Figure("coverage.usd", "Coverage", "attempts", "measured_usd", "share")
    yield Figure("coverage.jobs", "Jobs measured", "jobs", "measured_usd", "share")
    for short, hours, name in (
        ("core", "core_hours", "cores"),
        ("gpu", "gpu_hours", "GPUs"),
        ("mem", "mem_gib_hours", "memory"),
    ):
        yield Figure(f"coverage.{short}_hours", f"Hours measured, {name}", "attempts", f"measured_{hours}", "share")
        yield Figure(f"efficiency.{short}", f"Used of held, {name}", "attempts", f"used_{hours}", "share")
    yield Figure("coverage.floor", "Coverage floor", stated="stated as policy.coverage_floor in audit.toml")


def _hours() -> Iterator[Figure]:
    for short, (hours, name) in _UNITS.items():
        for kind in ("installed", "capacity", "down"):
            yield Figure(f"hours.{kind}.{short}", f"Hours {kind}, {name}", "nodes", f"{kind}:{short}")
        yield Figure(f"hours.held.{short}", _HOURS[hours], "attempts", hours)
    yield Figure("slice.nodes", "Nodes", "slice", "nodes")
    for key, name in (("cores", "Cores"), ("gpus", "GPUs"), ("mem_gib", "Memory")):
        yield Figure(f"slice.{key}", f"{name} offered", "slice", key)


def _held_by(members: str) -> Iterator[Figure]:
    yield Figure(f"{members}.*.attempts", "Attempts", "attempts", "attempts")
    for key, label in _HOURS.items():
        if key != "mem_gib_hours" or members in ("by_partition", "families"):
            yield Figure(f"{members}.*.{key}", label, "attempts", key)
    for key, label in _BUCKETS.items():
        yield Figure(f"{members}.*.{key}", label, "attempts", key)


def _families() -> Iterator[Figure]:
    for resource, name in _GIVEN_UP.items():
        key = f"{resource}_recoverable_usd"
        yield Figure(f"families.*.{key}", f"Recoverable through {name}", "attempts", key)
    yield Figure("families.*.lost_attempts", "Attempts lost", "attempts", "lost_attempts")
    yield Figure("families.*.asks_too_little", "Asks too little", "attempts", "asks_too_little")
    yield Figure("families.*.users", "Users", "users", "attempts")
    yield Figure("families.*.partitions", "Partitions", "partitions", "attempts")
    for key, label, measure in (
        ("mem_asked_bytes", "Memory asked", "held_mem_bytes"),
        ("cores_asked", "Cores asked", "held_cores"),
        ("cores_used_p50", "Cores used", "cores_used"),
        ("gpus_asked", "GPUs asked", "held_gpus"),
    ):
        yield Figure(f"families.*.{key}", label, "attempts", measure, "p50")
    points: tuple[Take, ...] = ("p10", "p50", "p90")
    for point in points:
        yield Figure(f"families.*.mem_need_{point}_bytes", f"Memory need, {point}", "attempts", "mem_used_bytes", point)
        yield Figure(f"families.*.cores_need_{point}", f"Cores need, {point}", "attempts", "cores_max", point)
        yield Figure(f"families.*.gpus_need_{point}", f"GPUs need, {point}", "attempts", "gpus_used", point)


def _gpus() -> Iterator[Figure]:
    yield Figure("gpus.never_touched_gpu_hours", "GPUs never touched", "attempts", "untouched_gpu_hours")
    yield Figure("gpus.activity_unknown_gpu_hours", "GPU activity unknown", "attempts", "unknown_gpu_hours")
    yield Figure("gpus.not_measured_gpu_hours", "GPUs not measured", "attempts", "unmeasured_gpu_hours")
    for key, label, measure in (
        ("attempts", "Attempts with an untouched GPU", "untouched"),
        ("of_attempts", "Attempts with measured GPUs", "gpu_measured"),
        ("gpu_hours", "GPUs never touched", "untouched_gpu_hours"),
        ("of_gpu_hours", "GPU-hours measured", "measured_gpu_hours"),
        ("usd", "Recoverable through GPU counts", "gpus_recoverable_usd"),
    ):
        yield Figure(f"gpus.never_touched.*.{key}", label, "attempts", measure)


def _telemetry() -> Iterator[Figure]:
    yield Figure("telemetry.coverage", "Watched", "collectors", "watched", "share")
    for key, label, measure in (
        ("nodes", "Nodes of the slice", "nodes"),
        ("watched_nodes", "Nodes with a collector", "watched_nodes"),
        ("watched_hours", "Node-hours watched", "watched"),
        ("window_hours", "Node-hours of the window", "window"),
    ):
        yield Figure(f"telemetry.{key}", label, "collectors", measure)
    yield Figure("telemetry.gaps", "Gaps", "gaps")
    yield Figure("telemetry.clock_steps", "Clock steps", "clock", "steps")
    yield Figure("telemetry.clock_nodes", "Nodes with clock steps", "clock", "nodes")
    overhead: tuple[tuple[str, str, str, Take], ...] = (
        ("nodes", "Nodes that tell their cost", "told", "sum"),
        ("cpu_share", "CPU of collectors", "cpu", "share"),
        ("worst_cpu_share", "CPU of a collector, at worst", "cpu_share", "max"),
        ("rss_bytes_max", "Memory of a collector, at most", "rss", "max"),
        ("written_bytes_per_day", "Written a day", "written", "share"),
        ("worst_written_bytes_per_day", "Written a day, at worst", "written_bytes_per_day", "max"),
        ("missed", "Samples missed", "missed", "sum"),
        ("late_max_s", "Latest sample", "late", "max"),
    )
    for key, label, measure, take in overhead:
        yield Figure(f"telemetry.overhead.{key}", label, "collectors", measure, take)
    for key, label in (("nodes", "Nodes"), ("intervals", "Intervals"), ("hours", "Hours")):
        yield Figure(f"telemetry.unattributed.*.{key}", f"{label} of what is nobody's", "unattributed", key)
    for key, label in (
        ("gpus", "GPUs seen"),
        ("watched_gpu_hours", "GPU-hours watched"),
        ("mig_gpus", "GPUs in MIG mode"),
        ("mig_gpu_hours", "GPU-hours in MIG mode"),
        ("shared_gpu_hours", "GPU-hours shared"),
        ("throttled_gpu_hours", "GPU-hours throttled"),
        ("throttle_measured_gpu_hours", "GPU-hours with clocks measured"),
        ("touched_gpu_hours", "GPU-hours touched"),
        ("io_bound_gpu_hours", "GPU-hours I/O-bound"),
        ("io_measured_gpu_hours", "GPU-hours with I/O measured"),
    ):
        yield Figure(f"telemetry.gpus.{key}", label, "cards", key)
    memory: tuple[tuple[str, str, str, Take], ...] = (
        ("attempts", "Attempts with both peaks", "mem_beside", "sum"),
        ("only_cgroup_attempts", "Attempts with the cgroup's peak alone", "mem_cgroup_only", "sum"),
        ("cgroup_p50_bytes", "Peak by the cgroup", "mem_cgroup_bytes", "p50"),
        ("accounting_p50_bytes", "Peak by accounting", "mem_accounting_bytes", "p50"),
        ("lower_p50_share", "Accounting's peak is lower by", "mem_lower_share", "p50"),
        ("missed_attempts", "Peaks that accounting missed", "mem_missed", "sum"),
    )
    for key, label, measure, take in memory:
        yield Figure(f"telemetry.memory.{key}", label, "attempts", measure, take)


FIGURES: tuple[Figure, ...] = (
    Figure("attempts", "Attempts", "attempts", "attempts"),
    Figure("jobs", "Jobs", "jobs", "attempts"),
    *_per_month(_cost()),
    *_per_month(_recoverable()),
    *_of_recoverable(),
    *_advice(),
    *_coverage(),
    *_hours(),
    Figure("lost.*.attempts", "Attempts lost", "attempts", "attempts"),
    *(Figure(f"lost.*.{key}", label, "attempts", key) for key, label in _HOURS.items()),
    Figure("lost.*.usd", "Lost", "attempts", "held_usd"),
    *_held_by("by_partition"),
    Figure("by_partition.*.nodes", "Nodes", "nodes", "nodes"),
    *(
        Figure(f"by_partition.*.{key}", label, "nodes", f"{key.removesuffix('_usd')}:usd")
        for key, label in _NODES_USD.items()
        if key != "capacity_usd"
    ),
    *(
        Figure(f"by_hour_of_week.*.{key}", label, "hours", key)
        for key, label in {**_NODES_USD, **_BUCKETS}.items()
        if key in ("installed_usd", "held_usd", "recoverable_usd")
    ),
    *_held_by("accounts"),
    Figure("accounts.*.users", "Users", "users", "attempts"),
    *_held_by("users"),
    Figure("users.*.families", "Families", "families", "attempts"),
    *_held_by("families"),
    *_families(),
    *_gpus(),
    *_telemetry(),
    Figure("rejects.rows", "Records not read", "rejects", "rows"),
    Figure("rejects.by_reason.*.rows", "Records not read", "rejects", "rows"),
)
