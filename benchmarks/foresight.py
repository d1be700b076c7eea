"""How far *expected* is from what its own recommendations would have won, on generated months whose truth is known.

Usage: python -m benchmarks.foresight [--seeds 10] [--jobs 12000] [--trouble NAME …] [--work DIR]

Each month is generated, ingested, and a model played through it. Then the same advice is reckoned again with the true
needs in place of the measured ones. Coverage of every target comes from the back-test.
"""

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import finish, run

LEVEL_LIMIT_POINTS = 1.0
OFF_LIMIT, ABOVE_LIMIT, TROUBLED_LIMIT = 0.05, 0.05, 0.15
GPUS, DAYS = 100, 30


@dataclass(frozen=True)
class Kind:
    """What kind of month: peaks as a sampler sees them, and what else makes it hard to foresee."""

    sampling_s: int = 0
    unwatched: float = 0.0
    growth: float = 1.0
    newcomers: float = 0.0


KINDS = {
    "plain": Kind(),
    "sampled_30s": Kind(sampling_s=30),
    "unwatched_20pct": Kind(unwatched=0.2),
    "needs_double": Kind(growth=2.0),
    "newcomers": Kind(newcomers=0.3),
}
_TRUE_USE = """
CREATE OR REPLACE TEMP TABLE true_usage AS
SELECT u.* REPLACE (
    CASE WHEN u.mem_source IS NOT NULL OR {all_watched} THEN t.mem_reached_bytes END AS mem_used_bytes,
    CASE WHEN {all_watched} AND u.mem_source IS NULL THEN 'cgroup' ELSE u.mem_source END AS mem_source,
    CASE WHEN u.gpu_source IS NOT NULL OR {all_watched} THEN t.gpus_used END AS gpus_used,
    CASE WHEN {all_watched} AND u.gpu_source IS NULL AND u.held_gpus > 0 THEN 'telemetry' ELSE u.gpu_source END
        AS gpu_source)
FROM usage AS u JOIN read_parquet(?) AS t ON t.job_id_raw = u.job_id_raw AND t.submit = epoch(u.submit)
"""


def month(folder: Path, kind: Kind, seed: int, jobs: int) -> dict[str, Any]:
    """One month: what was expected, what its advice would truly have won, and the coverage of every target."""
    from audit.accounting.figures import figures
    from audit.accounting.in_advance import in_advance
    from audit.accounting.views import create_cost_views, create_use_views
    from audit.sample import ACCELERATORS, Trouble, generate
    from audit.store import open_store
    from audit.workspace import config_text, create_workspace

    trouble = Trouble(kind.unwatched, kind.growth, kind.newcomers)
    made = generate(
        folder / "evidence", folder / "truth", jobs=jobs, gpus=GPUS, days=DAYS, seed=seed,
        sampling_s=kind.sampling_s, trouble=trouble,
    )  # fmt: skip
    text = config_text(
        cluster=made.cluster, timezone=made.timezone, window_from=made.window_from.isoformat(),
        window_to=made.window_to.isoformat(), accelerators=ACCELERATORS, generated_sample=True,
    )  # fmt: skip
    space = create_workspace(folder, text)
    for verb in ("ingest", "train"):
        run([sys.executable, "-m", "audit", verb, "--dir", str(folder)])
    with open_store(space) as store:
        won = figures(store.connection, space)["recoverable"]
    truly = {}
    for name, all_watched in (("true", False), ("true_if_all_followed", True)):
        with open_store(space) as store:
            create_use_views(store.connection, space)
            store.connection.execute(_TRUE_USE.format(all_watched=str(all_watched).lower()), [str(made.truth)])
            store.connection.execute("CREATE OR REPLACE TEMP VIEW usage AS SELECT * FROM true_usage")
            create_cost_views(store.connection, space)
            reckoned = in_advance(store.connection, space.config.policy, is_measured=True)
            truly[f"{name}_usd"] = reckoned.usd["expected_usd"]
            truly[f"{name}_killed"] = reckoned.told["kills"]["killed"]
    back_test = json.loads((folder / "models" / "backtest.json").read_text())
    return {
        "seed": seed,
        "attempts": made.attempts,
        "expected_usd": won["expected_usd"],
        "low_usd": won["low_usd"],
        "high_usd": won["high_usd"],
        "kills": won["kills"],
        **truly,
        "off": won["expected_usd"] / truly["true_usd"] - 1,
        "coverage": {t["target"]: _errors(t["coverage"]) for t in back_test["targets"]},
        "abstained": {t["target"]: t["abstained"]["share"] for t in back_test["targets"]},
    }


def _errors(coverage: list[dict[str, float]]) -> dict[str, float]:
    """By how many points each level was missed."""
    return {f"p{100 * at['level']:g}": 100 * at["error"] for at in coverage}


def spread(values: list[float]) -> dict[str, float]:
    """The least, the middle and the most."""
    return {"min": min(values), "median": float(np.median(values)), "max": max(values)}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=12_000)
    parser.add_argument("--trouble", nargs="*", choices=sorted(KINDS), default=["plain"])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-foresight")
    options = parser.parse_args()
    found: dict[str, Any] = {"benchmark": "foresight", "jobs": options.jobs, "kinds": {}}
    passed = True
    for name in options.trouble:
        months = []
        for seed in range(options.first, options.first + options.seeds):
            folder = options.work / f"{name}-{seed}-{options.jobs}"
            shutil.rmtree(folder, ignore_errors=True)
            months.append(month(folder, KINDS[name], seed, options.jobs))
            shutil.rmtree(folder)
            print(json.dumps({"kind": name, **months[-1]}), file=sys.stderr, flush=True)
        off = spread([m["off"] for m in months])
        coverage = {
            target: {level: spread([m["coverage"][target][level] for m in months]) for level in levels}
            for target, levels in months[0]["coverage"].items()
        }
        found["kinds"][name] = {"months": months, "off": off, "coverage_error_points": coverage}
        limit = OFF_LIMIT if name == "plain" else TROUBLED_LIMIT
        passed &= max(abs(off["min"]), abs(off["max"])) <= limit
        if name == "plain":
            worst = max(abs(v) for c in coverage.values() for s in c.values() for v in (s["min"], s["max"]))
            found["worst_coverage_error_points"] = worst
            passed &= worst <= LEVEL_LIMIT_POINTS and off["max"] <= ABOVE_LIMIT
    return finish({**found, "limits": {"off": OFF_LIMIT, "coverage_points": LEVEL_LIMIT_POINTS}}, passed=passed)


if __name__ == "__main__":
    sys.exit(main())
