"""Reports to render, made by the whole chain on a generated fortnight; each test gets copies of its own.

`report` is a GPU cluster, `cpu_report` the slice of its nodes without GPUs, `unmeasured_report` the same evidence with
every measure of use struck out, `unbundled_report` without the node inventory, `short_report` three days without a
month, `hostile_report` with every name written by somebody who means harm, `round_report` one with figures to work
with by hand. `advised_report` and `advised_round_report` have a model replayed over the window, and its back-test.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.accounting.figures import figures
from audit.accounting.views import create_use_views
from audit.sample import ACCELERATORS, generate
from audit.store import Options, Store, ingest, open_current
from audit.workspace import QUANTILES, config_text, create_workspace

Report = dict[str, Any]
Line = dict[str, str]

HOSTILE = {
    "tag": "<img src=file:///etc/passwd><script>alert(1)</script>",
    "bidi": "abc\u202egnp.exe\u2066x\u2069",
    "long": "n" * 10_000 + "-END",
    "control": "two\nlines\x1b[31mred\x00|pipe",
    "template": "{{ 7 * 7 }} {% raw %} ]]> --></style></title>",
}


# In stead of a model: what was used and a tenth more, less of some, the more of them the lower the quantile; of one
# attempt in eight nothing.
ADVICE = """
    SELECT cluster, job_id_raw, submit, quantile, CAST(NULL AS DOUBLE) AS cores,
        CAST(mem_used_bytes * CASE WHEN number % 1000 < 1000 * (1 - quantile) THEN 0.9 ELSE 1.1 END AS DOUBLE) AS mem_bytes,
        CAST(CASE WHEN number % 200 = 1 THEN gpus_used - 1 ELSE gpus_used END AS DOUBLE) AS gpus, number % 8 = 3 AS abstained
    FROM (SELECT *, row_number() OVER (ORDER BY submit, job_id_raw) AS number FROM usage) CROSS JOIN quantile
"""


def made(
    folder: Path,
    *,
    partitions: tuple[str, ...] = (),
    inventory: bool = True,
    use: bool = True,
    advised: bool = False,
) -> Report:
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
        if advised:
            advise(store)
        return json.loads(json.dumps(figures(store.connection, workspace)))


def advise(store: Store) -> None:
    """Writes the replay that a model would have left."""
    path = store.workspace.replay
    path.parent.mkdir()
    create_use_views(store.connection, store.workspace)
    store.connection.execute("CREATE TEMP TABLE quantile (quantile DOUBLE)")
    store.connection.executemany("INSERT INTO quantile VALUES (?)", [[quantile] for quantile in QUANTILES])
    store.connection.execute(f"COPY ({ADVICE}) TO $path (FORMAT parquet)", {"path": str(path)})


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


@pytest.fixture(scope="session")
def advised_copy(once: Callable[..., Callable[[], Report]]) -> Callable[[], Report]:
    return once("advised", advised=True)


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


@pytest.fixture
def advised_report(advised_copy: Callable[[], Report]) -> Report:
    """The GPU cluster with advice replayed over its fortnight and back-tested."""
    return advised_copy() | {"sizing": {"schema": "audit-backtest/1", "targets": [back_test(name) for name in TARGETS]}}


@pytest.fixture
def advised_round_report(round_report: Report) -> Report:
    """Of the 80 at most, 60 gross less 10 of reruns are expected: 50, low 30; by GPUs 35 of 60, by memory 15 of 20."""
    won = round_report["recoverable"]
    won.update(in_both({"expected": 50, "expected_gross": 60, "reruns": 10, "low": 30, "expected_contended": 15}))
    won.update(expected_freed_nodes=0.3, expected_freed_gpus=1.2, expected_freed_cores=10.0, quantile=0.99)
    won["expected_sampling"] = {"days": 14, "resamples": 2000, "low_usd": 40.0, "high_usd": 58.0}
    won["kills"] = {"killed": 3, "of": 120, "by_memory": 2, "of_memory": 90, "by_gpus": 1, "of_gpus": 40}
    won["low_kills"] = {"killed": 1, "of": 60}
    won["slowed"] = {"slowed": 4, "of": 120}
    won["abstained"] = {"attempts": 20, "missing": 0, "of": 200, "usd": 90.0}
    won["policy_too_bold"] = False
    keys = ("quantile", "gross_usd", "reruns_usd", "net_usd", "killed", "of", "slowed")
    rows = ((0.9, 70.0, 90.0, -20.0, 30, 124, 9), (0.95, 66.0, 40.0, 26.0, 12, 122, 6))
    rows += ((0.99, 60.0, 10.0, 50.0, 3, 120, 4), (0.995, 54.0, 4.0, 50.0, 1, 119, 2))
    won["sensitivity"] = [dict(zip(keys, row, strict=True)) for row in rows]
    won["by_class"][0].update(expected_hours=5.0, expected_gpu_hours=40.0, expected_core_hours=80.0, expected_usd=50.0)
    price = {"node_class": "8xH100", "usd_per_hour": 10.0, "low_usd_per_hour": 4.0, "high_usd_per_hour": 16.0}
    round_report["prices"] = [{**round_report["prices"][0], **price}]
    expected = {"gpus": (35, 0.3, 1.1, 1, 40), "memory": (15, 0.0, 0.1, 2, 90)}
    for row in round_report["actions"]:
        if row["kind"] == "request":
            usd, nodes, gpus, killed, of = expected[row["subject"]]
            row.update(expected_usd=float(usd), expected_usd_per_month=2.0 * usd, killed=killed, of=of)
            row.update(expected_freed_nodes=nodes, expected_freed_gpus=gpus)
    round_report["reasons"] = {key: why for key, why in round_report["reasons"].items() if "recoverable" not in key}
    return round_report | {"sizing": {"schema": "audit-backtest/1", "targets": [back_test("memory")]}}


TARGETS = ("memory", "walltime", "cores", "gpus", "vram", "gpu_activity")


def back_test(target: str, **changed: Any) -> Report:
    """One target's back-test, worked out by nobody: 10,000 attempts, 9,000 of them scored, in 700 bursts."""
    kept = {0.5: (0.52, 0.49, 0.55), 0.9: (0.903, 0.88, 0.92), 0.95: (0.946, 0.93, 0.96), 0.99: (0.987, 0.98, 0.993)}

    def method(name: str, role: str, margin: str, kills: int, over: float, waste: float) -> Report:
        share = {"kill_share": kills / 9000, "over_request": over, "waste": waste * 1e9, "waste_share": waste}
        level = None if margin == "as_issued" else 0.99
        told = {"method": name, "role": role, "margin": margin, "level": level, "attempts": 9800, "advised": 9000}
        return {**told, "kills": kills, **share, "pinball": None if level is None else 0.05}

    rivals = (
        ("request", 0, 4.1, 3.1),
        ("last_two", 4100, 0.98, 0.9),
        ("key_max", 900, 2.2, 1.3),
        ("p95", 1300, 1.9, 1.1),
    )
    row = {
        "target": target,
        "unit": "bytes",
        "kills": target in ("memory", "walltime", "gpus"),
        "mode": "submit",
        "from": "2026-05-01T05:00:00Z",
        "to": "2026-05-15T04:00:00Z",
        "attempts": 10000,
        "measured": 9800,
        "bounds": 120,
        "scored": 9000,
        "abstained": {"attempts": 1000, "share": 0.1, "share_after_1000": 0.06},
        "bursts": 700,
        "users": 40,
        "coverage": [
            {"level": level, "realised": share, "low": low, "high": high, "below": share, "error": share - level,
             "without_bounds": share}
            for level, (share, low, high) in kept.items()
        ],
        "per_user": {
            "least_attempts": 500,
            "users": 10,
            "within_2_points": [{"level": level, "share": 0.8} for level in kept],
            "listed": [{"user": "u1", "attempts": 800, "bursts": 90, "realised": []}],
        },
        "worst_1000": [{"level": level, "realised": share - 0.02, "from": None, "to": None}
                       for level, (share, _, _) in kept.items()],
        "pinball": [],
        "methods": [
            method("model", "model", "model", 90, 1.5, 0.6),
            method("forest", "expert", "own", 95, 1.6, 0.7),
            *(method(name, "rival", "as_issued", kills, over, waste) for name, kills, over, waste in rivals),
            *(method(name, "rival", "own", 85, over + 1, waste + 0.2) for name, _, over, waste in rivals),
        ],
        "equal_kills": [
            {"kill_share": 0.01, "level": 0.99, "attempts": 9800, "methods": [], "best_fixed": "key_max",
             "best_in_hindsight": "p95", "model_to_fixed": 0.82, "model_to_fixed_frozen": 0.8, "model_to_hindsight": 0.9}
        ],
    }  # fmt: skip
    return row | changed


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
