"""Three reports to render: a generated GPU cluster, a CPU cluster with nothing measured, hostile names."""

import copy
from typing import Any

import pytest

GPU: dict[str, Any] = {
    "schema": "audit-report/1",
    "version": "0.1.0",
    "generated_sample": True,
    "cluster": "sandpiper",
    "timezone": "Europe/Berlin",
    "window": {
        "from": "2026-11-01T23:00:00+00:00",
        "to": "2026-11-15T23:00:00+00:00",
        "hours": 336.0,
        "is_default": False,
    },
    "slice": {"nodes": 66, "gpus": 296, "cores": 6144, "mem_gib": 58368},
    "attempts": 9412,
    "jobs": 9120,
    "coverage": {
        "usd": 0.948,
        "jobs": 0.931,
        "core_hours": 0.912,
        "gpu_hours": 0.952,
        "mem_hours": 0.944,
        "floor": 0.8,
        "headline_allowed": True,
        "reason": None,
    },
    "hours": {
        "installed": {"core": 2064384.0, "gpu": 99456.0, "mem_gib": 19611648.0},
        "capacity": {"core": 2027225.1, "gpu": 97665.8, "mem_gib": 19258638.0},
        "down": {"core": 37158.9, "gpu": 1790.2, "mem_gib": 353010.0},
        "held": {"core": 1288177.4, "gpu": 79452.0, "mem_gib": 12180300.5},
    },
    "cost": {
        "mode": "node",
        "basis": "list",
        "currency": "USD",
        "installed_usd": 253166.0,
        "down_usd": 4532.0,
        "capacity_usd": 248634.0,
        "held_usd": 205780.0,
        "idle_usd": 42854.0,
        "lost_usd": 10536.0,
        "not_measured_usd": 10293.0,
    },
    "prices": [
        {
            "node_class": "8×H100",
            "usd_per_hour": 9.84,
            "low_usd_per_hour": 7.2,
            "high_usd_per_hour": 12.31,
            "providers": 7,
            "source": "prices.csv 2026-07, on demand, median",
            "nodes": 24,
        },
        {
            "node_class": "4×A100",
            "usd_per_hour": 5.8,
            "low_usd_per_hour": 4.4,
            "high_usd_per_hour": 8.2,
            "providers": 5,
            "source": "prices.csv 2026-07, on demand, median",
            "nodes": 20,
        },
        {
            "node_class": "128 cores, 1536 GiB",
            "usd_per_hour": 0.845,
            "low_usd_per_hour": None,
            "high_usd_per_hour": None,
            "providers": None,
            "source": "audit.toml",
            "nodes": 22,
        },
    ],
    "lost": [
        {"cause": "TIMEOUT", "attempts": 212, "usd": 6120.4},
        {"cause": "FAILED", "attempts": 601, "usd": 3011.2},
        {"cause": "OUT_OF_MEMORY", "attempts": 88, "usd": 1404.4},
    ],
    "by_partition": [
        {
            "partition": "gpu-h100",
            "attempts": 2916,
            "held_usd": 150420.0,
            "core_hours": 520300.0,
            "gpu_hours": 54196.0,
            "mem_gib_hours": 7020110.0,
        },
        {
            "partition": "gpu-a100",
            "attempts": 1593,
            "held_usd": 36210.0,
            "core_hours": 221005.0,
            "gpu_hours": 20536.0,
            "mem_gib_hours": 2301120.0,
        },
        {
            "partition": "gpu-interactive",
            "attempts": 411,
            "held_usd": 4210.0,
            "core_hours": 39370.4,
            "gpu_hours": 4720.0,
            "mem_gib_hours": 210300.5,
        },
        {
            "partition": "cpu-highmem",
            "attempts": 4492,
            "held_usd": 14940.0,
            "core_hours": 507502.0,
            "gpu_hours": 0.0,
            "mem_gib_hours": 2648770.0,
        },
    ],
    "measured": [
        {"resource": "memory", "attempts": 9241, "of_attempts": 9412, "held_hours_share": 0.9441},
        {"resource": "cores", "attempts": 9012, "of_attempts": 9412, "held_hours_share": 0.9123},
        {"resource": "gpus", "attempts": 4118, "of_attempts": 4330, "held_hours_share": 0.9522},
    ],
    "efficiency": {"mem": 0.412, "core": 0.633, "gpu": 0.874},
    "data_gaps": [],
    "rejects": {"rows": 3, "by_reason": [{"reason": "wrong number of fields", "rows": 3}]},
    "evidence": [
        {
            "name": "sacct-20261102-20261115.psv",
            "kind": "sacct",
            "sha256": "081159ea59527a04fee010d985403d41dbcbc658a0c11c0827d723e9f719c630",
            "records": 11038,
            "attempts": 9412,
            "steps": 1623,
            "rejects": 3,
            "other_cluster": 0,
            "first_time": "2026-11-01T23:00:00+00:00",
            "last_time": "2026-11-15T22:59:58+00:00",
        },
        {
            "name": "nodes.json",
            "kind": "scontrol-nodes",
            "sha256": "6930d2a8f30c2bb0dbb9a8c7b8d9c72efe22f1a3d931cc3b99bb6a2880619b04",
            "records": 66,
            "attempts": 0,
            "steps": 0,
            "rejects": 0,
            "other_cluster": 0,
            "first_time": "2026-11-02T08:00:00+00:00",
            "last_time": "2026-11-02T08:00:00+00:00",
        },
    ],
    "reasons": {},
}


def with_months(report: dict[str, Any]) -> dict[str, Any]:
    """Each dollar of the window also for a month, as the figures carry it."""
    factor = 730 / report["window"]["hours"]
    for key in [key for key in report["cost"] if key.endswith("_usd")]:
        value = report["cost"][key]
        report["cost"][f"{key}_per_month"] = None if value is None else value * factor
    return report


@pytest.fixture
def gpu_report() -> dict[str, Any]:
    """A generated GPU cluster: node mode, most of it measured, coverage above the floor."""
    return with_months(copy.deepcopy(GPU))


@pytest.fixture
def cpu_report() -> dict[str, Any]:
    """A CPU cluster of unknown node sizes with 30 daily files and no use measured at all."""
    report = copy.deepcopy(GPU)
    null_hours = {"core": None, "gpu": None, "mem_gib": None}
    report.update(
        generated_sample=False,
        cluster="ub-hpc",
        timezone="UTC",
        window={
            "from": "2017-01-01T00:00:00+00:00",
            "to": "2017-01-31T00:00:00+00:00",
            "hours": 720.0,
            "is_default": True,
        },
        slice={"nodes": None, "gpus": None, "cores": None, "mem_gib": None},
        attempts=11704,
        jobs=11520,
        coverage={
            "usd": 0.0,
            "jobs": 0.0,
            "core_hours": 0.0,
            "gpu_hours": None,
            "mem_hours": 0.0,
            "floor": 0.8,
            "headline_allowed": False,
            "reason": "coverage is 0 % of held dollars, the floor is 80 %",
        },
        hours={
            "installed": null_hours,
            "capacity": null_hours,
            "down": null_hours,
            "held": {"core": 412003.6, "gpu": 0.0, "mem_gib": 1203400.2},
        },
        prices=[
            {
                "resource": "core",
                "usd_per_hour": 0.0341,
                "low_usd_per_hour": 0.0228,
                "high_usd_per_hour": 0.0502,
                "providers": 12,
                "source": "fit over 304 node prices, 2026-07",
                "nodes": None,
            },
            {
                "resource": "mem_gib",
                "usd_per_hour": 0.00412,
                "low_usd_per_hour": 0.0031,
                "high_usd_per_hour": 0.0061,
                "providers": 12,
                "source": "fit over 304 node prices, 2026-07",
                "nodes": None,
            },
        ],
        lost=[{"cause": "TIMEOUT", "attempts": 512, "usd": 1204.0}],
        by_partition=[
            {
                "partition": name,
                "attempts": attempts,
                "held_usd": usd,
                "core_hours": usd * 21.7,
                "gpu_hours": 0.0,
                "mem_gib_hours": usd * 63.4,
            }
            for name, attempts, usd in [
                ("general-compute", 8000, 12400.5),
                ("industry", 1400, 3120.25),
                ("largemem", 900, 1800.0),
                ("debug", 700, 900.0),
                ("skylake", 400, 500.0),
                ("viz", 200, 200.0),
                ("scavenger", 100, 85.0),
                ("test", 4, 0.25),
            ]
        ],
        measured=[
            {"resource": "memory", "attempts": 0, "of_attempts": 11704, "held_hours_share": 0.0},
            {"resource": "cores", "attempts": 0, "of_attempts": 11704, "held_hours_share": 0.0},
            {"resource": "gpus", "attempts": 0, "of_attempts": 0, "held_hours_share": None},
        ],
        efficiency={"mem": None, "core": None, "gpu": None},
        data_gaps=[{"from": "2017-01-12T00:00:00+00:00", "to": "2017-01-13T00:00:00+00:00"}],
        rejects={"rows": 0, "by_reason": []},
        evidence=[
            {
                "name": f"2017-01-{day:02d}.txt",
                "kind": "sacct",
                "sha256": f"{day:064x}",
                "records": 390,
                "attempts": 390,
                "steps": 0,
                "rejects": 0,
                "other_cluster": 0,
                "first_time": f"2017-01-{day:02d}T00:00:00+00:00",
                "last_time": f"2017-01-{day:02d}T23:59:59+00:00",
            }
            for day in range(1, 31)
        ],
        reasons={
            "cost.capacity_usd": "node sizes unknown: no node inventory in the evidence",
            "cost.idle_usd": "node sizes unknown: no node inventory in the evidence",
            "hours.down": "no node states in the evidence",
            "efficiency.mem": "the accounting has no MaxRSS",
            "efficiency.core": "the accounting has no TotalCPU",
            "coverage.usd": "neither MaxRSS nor TotalCPU is in the accounting",
        },
    )
    report["cost"].update(
        mode="unbundled",
        installed_usd=None,
        down_usd=None,
        capacity_usd=None,
        idle_usd=None,
        held_usd=19006.0,
        lost_usd=1204.0,
        not_measured_usd=17802.0,
    )
    return with_months(report)


HOSTILE = {
    "tag": "<img src=file:///etc/passwd><script>alert(1)</script>",
    "bidi": "abc\u202egnp.exe\u2066x\u2069",
    "long": "n" * 10_000 + "-END",
    "control": "two\nlines\x1b[31mred\x00|pipe",
    "template": "{{ 7 * 7 }} {% raw %} ]]> --></style></title>",
}


@pytest.fixture
def hostile_report() -> dict[str, Any]:
    """The GPU cluster, every name in it written by somebody who means harm; down time not measured."""
    report = copy.deepcopy(GPU)
    report["cluster"] = HOSTILE["tag"] + HOSTILE["bidi"]
    for row, name in zip(report["by_partition"], HOSTILE.values(), strict=False):
        row["partition"] = name
    report["by_partition"].append({**report["by_partition"][0], "partition": HOSTILE["template"], "held_usd": 0.2})
    report["evidence"][0]["name"] = HOSTILE["long"]
    report["evidence"][1]["name"] = HOSTILE["control"]
    report["rejects"]["by_reason"][0]["reason"] = HOSTILE["tag"]
    report["prices"][0]["node_class"] = HOSTILE["bidi"]
    report["prices"][0]["source"] = HOSTILE["template"]
    report["lost"][0]["cause"] = HOSTILE["control"]
    report["reasons"] = {"hours.down": HOSTILE["tag"]}
    report["cost"].update(down_usd=None, capacity_usd=None, idle_usd=None)
    return with_months(report)
