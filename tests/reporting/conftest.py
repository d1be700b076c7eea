"""Reports to render, made by the whole chain on a generated fortnight; each test gets copies of its own.

`report` is a GPU cluster, `cpu_report` the slice of its nodes without GPUs, `unmeasured_report` the same evidence with
every measure of use struck out, `unbundled_report` without the node inventory, `short_report` three days without a
month, `hostile_report` with every name written by somebody who means harm, `round_report` one with figures to work
with by hand.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.accounting.figures import figures
from audit.sample import ACCELERATORS, generate
from audit.store import Options, ingest, open_current
from audit.workspace import config_text, create_workspace

Report = dict[str, Any]
Line = dict[str, str]

HOSTILE = {
    "tag": "<img src=file:///etc/passwd><script>alert(1)</script>",
    "bidi": "abc\u202egnp.exe\u2066x\u2069",
    "long": "n" * 10_000 + "-END",
    "control": "two\nlines\x1b[31mred\x00|pipe",
    "template": "{{ 7 * 7 }} {% raw %} ]]> --></style></title>",
}


def made(folder: Path, *, partitions: tuple[str, ...] = (), inventory: bool = True, use: bool = True) -> Report:
    """A report of a generated fortnight: 1,500 jobs on 15 nodes with 32 GPUs."""
    sample = generate(folder / "evidence", folder / "truth", jobs=1500, gpus=32, days=14)
    if not inventory:
        (folder / "evidence" / "nodes.txt").unlink()
    if not use:
        for path in (folder / "evidence").glob("sacct-*.txt"):
            path.write_text("".join(without_use(path.read_text(encoding="utf-8"))), encoding="utf-8")
    settings = config_text(
        cluster=sample.cluster,
        timezone=sample.timezone,
        window_from=sample.window_from.isoformat(),
        window_to=sample.window_to.isoformat(),
        partitions=partitions,
        accelerators=ACCELERATORS,
        generated_sample=True,
    )
    workspace = create_workspace(folder, settings)
    failed = [result.error for result in ingest(workspace, [], options=Options(generated=True)) if result.error]
    assert not failed, failed
    with open_current(workspace, lambda _: None) as store:
        return json.loads(json.dumps(figures(store.connection, workspace)))


def without_use(dump: str) -> Iterator[str]:
    """The lines of a dump without steps, CPU time, peaks and job comments: what is left says nothing of use."""
    head, *lines = dump.splitlines(keepends=True)
    names = head.rstrip("\n").split("\x1f")
    yield head
    for line in lines:
        values: Line = dict(zip(names, line.rstrip("\n").split("\x1f"), strict=True))
        if "." not in values["JobID"]:
            struck = {"TotalCPU": "", "MaxRSS": "", "AveRSS": "", "TRESUsageInTot": "", "AdminComment": ""}
            yield "\x1f".join((values | struck).values()) + "\n"


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Callable[[], Report]]:
    """Makes a report once for a whole run, its parallel workers included; answers what gives a fresh copy of it."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base

    def make(name: str, **how: Any) -> Callable[[], Report]:
        kept = root / f"{name}.json"
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                kept.write_text(json.dumps(made(tmp_path_factory.mktemp(name), **how)))
        text = kept.read_text()
        return lambda: json.loads(text)

    return make


@pytest.fixture(scope="session")
def gpu_copy(once: Callable[..., Callable[[], Report]]) -> Callable[[], Report]:
    return once("gpu")


@pytest.fixture(scope="session")
def cpu_copy(once: Callable[..., Callable[[], Report]]) -> Callable[[], Report]:
    return once("cpu", partitions=("cpu",))


@pytest.fixture(scope="session")
def unmeasured_copy(once: Callable[..., Callable[[], Report]]) -> Callable[[], Report]:
    return once("unmeasured", use=False)


@pytest.fixture(scope="session")
def unbundled_copy(once: Callable[..., Callable[[], Report]]) -> Callable[[], Report]:
    return once("unbundled", inventory=False)


@pytest.fixture
def report(gpu_copy: Callable[[], Report]) -> Report:
    """A GPU cluster, node prices, most of it measured, coverage above the floor."""
    return gpu_copy()


@pytest.fixture
def cpu_report(cpu_copy: Callable[[], Report]) -> Report:
    """A slice of nodes that have no GPU."""
    return cpu_copy()


@pytest.fixture
def unmeasured_report(unmeasured_copy: Callable[[], Report]) -> Report:
    """Nothing says what any job used: no figure, no headline."""
    return unmeasured_copy()


@pytest.fixture
def unbundled_report(unbundled_copy: Callable[[], Report]) -> Report:
    """Node sizes unknown: only what was held is priced, resource by resource."""
    return unbundled_copy()


@pytest.fixture
def short_report(gpu_copy: Callable[[], Report]) -> Report:
    """The figures of a window of less than a week: nothing a month, no sampling error."""
    report = without_months(gpu_copy())
    report["window"].update(hours=72.0, observed_hours=72.0, month_factor=None)
    report["recoverable"]["sampling"] = None
    report["reasons"]["cost.held_usd_per_month"] = "a window of less than 7 days says too little of a month"
    return report


@pytest.fixture
def hostile_report(gpu_copy: Callable[[], Report]) -> Report:
    """Every name of the GPU cluster written by somebody who means harm."""
    report = gpu_copy()
    names = list(HOSTILE.values())

    def spoil(rows: list[Report], *keys: str) -> None:
        for number, row in enumerate(rows[:10]):
            row.update({key: names[(number + place) % len(names)] for place, key in enumerate(keys)})

    report["cluster"] = HOSTILE["tag"] + HOSTILE["bidi"]
    spoil(report["by_partition"], "partition")
    spoil(report["families"], "account", "family", "user", "partition")
    spoil(report["accounts"], "account")
    spoil(report["users"], "user")
    spoil(report["evidence"], "name")
    spoil(report["prices"], "node_class", "source")
    spoil(report["recoverable"]["by_class"], "node_class")
    spoil(report["node_coverage"]["least_measured"], "node")
    spoil(report["gpus"]["never_touched"], "partition")
    spoil(report["gpus"]["vram"], "card")
    for price in report["prices"]:
        price["provider_names"] = [HOSTILE["tag"], HOSTILE["long"]]
    report["rejects"] = {"rows": 3, "by_reason": [{"reason": HOSTILE["tag"], "rows": 3}]}
    report["data_gaps"] = []
    report["reasons"]["hours.down"] = HOSTILE["tag"]
    return report


@pytest.fixture
def round_report(gpu_copy: Callable[[], Report]) -> Report:
    """Installed 1,000 = down 40 + idle 160 + held 800 = used 400 + kept 100 + not measured 60 + lost 160 + won 80.

    A month is two windows of 365 hours. Partitions a and b share three nodes, two more are b's alone.
    """
    report = gpu_copy()
    report["window"].update(hours=365.0, observed_hours=365.0, month_factor=2.0)
    dollars = {"installed": 1000, "down": 40, "capacity": 960, "held": 800, "idle": 160, "idle_reserved": 0}
    dollars |= {"used": 400, "kept": 100, "not_measured": 60, "lost": 160}
    report["cost"].update(in_both(dollars))
    report["coverage"].update(usd=0.925, headline_allowed=True, reason=None)
    won = report["recoverable"]
    won.update(in_both({"high": 80, "contended": 20}), freed_nodes=0.5, freed_gpus=2.0, freed_cores=16.0)
    won["sampling"].update(low_usd=60.0, high_usd=100.0)
    node_class = {**won["by_class"][0], "node_class": "8xH100", "usd_per_hour": 10.0, "recoverable_hours": 8.0}
    won["by_class"] = [
        {**node_class, "recoverable_usd": 80.0, "low_recoverable_usd": 40.0, "high_recoverable_usd": 120.0}
    ]
    report["by_partition"] = [
        partition(report, "a", 50, (500, 250, 60, 40, 100, 50), (0, 0, 0)),
        partition(report, "b", 30, (300, 150, 40, 20, 60, 30), (2, 60, 10)),
        partition(report, "a,b", 0, (0, 0, 0, 0, 0, 0), (3, 100, 30)),
    ]
    report["actions"] = [
        action(report, "failure", "TIMEOUT", 120, "Raise time limits"),
        action(report, "request", "gpus", 60, "Lower the GPU count", freed_nodes=0.4, freed_gpus=1.5, families=1),
        action(report, "failure", "FAILED", 40, "Find why jobs fail"),
        action(report, "request", "memory", 20, "Lower the memory", freed_nodes=0.1, freed_gpus=0.5, families=3),
    ]
    return report


def in_both(dollars: dict[str, float]) -> dict[str, float]:
    """Dollars of the window by name, and those of a month of two windows."""
    window = {f"{name}_usd": float(usd) for name, usd in dollars.items()}
    return window | {f"{key}_per_month": 2 * usd for key, usd in window.items()}


def partition(report: Report, name: str, attempts: int, held: tuple[float, ...], nodes: tuple[float, ...]) -> Report:
    """A partition: dollars held and by bucket; how many nodes, dollars idle and down."""
    keys = ("held_usd", "used_usd", "kept_usd", "not_measured_usd", "lost_usd", "recoverable_usd")
    row = {**report["by_partition"][0], "partition": name, "attempts": attempts, **dict(zip(keys, held, strict=True))}
    return row | dict(zip(("nodes", "idle_usd", "down_usd"), nodes, strict=True))


def action(report: Report, kind: str, subject: str, usd: float, what: str, **more: Any) -> Report:
    """An action of 8 attempts."""
    row = {**report["actions"][0], "kind": kind, "subject": subject, "action": what, "attempts": 8}
    blank = dict.fromkeys(("families", "freed_nodes", "freed_gpus"))
    return row | blank | {"usd": float(usd), "usd_per_month": 2.0 * usd} | more


def without_months(value: Any) -> Any:
    """The same figures with every one for a month struck out."""
    if isinstance(value, dict):
        return {key: None if key.endswith("_per_month") else without_months(inner) for key, inner in value.items()}
    return [without_months(inner) for inner in value] if isinstance(value, list) else value
