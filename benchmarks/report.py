"""The chain on the reference month, 122,000 jobs and 1,000 GPUs: ingest and report, the PDF's size, and its truth.

Usage: python -m benchmarks.report [--runs N] [--work DIR]
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Run, alternate, finish, median_s, run, summary

JOBS, GPUS, DAYS = 122_000, 1_000, 30
LIMIT_S, LIMIT_PDF_BYTES = 20.0, 1 << 20
_TRUTH = """
import json, sys
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from audit.accounting.figures import figures
from audit.store import open_store
from audit.workspace import find_workspace
from tests.accounting.reckoning import reckon
from tests.sample.dump import Month

folder = Path(sys.argv[1])
space = find_workspace(folder)
with open_store(space) as store:
    report = figures(store.connection, space)
    prices = dict(store.connection.execute("SELECT node, usd_per_hour FROM node_hours").fetchall())
window = SimpleNamespace(window_from=space.config.window_from, window_to=space.config.window_to)
true = reckon(Month(folder / "evidence", folder / "truth", window), prices)
keys = ("held_usd", "used_usd", "kept_usd", "lost_usd", "not_measured_usd")
told = {k: report["cost"][k] for k in keys} | {"recoverable_usd": report["recoverable"]["high_usd"]}
held = report["hours"]["held"]
told |= {"core_hours": held["core"], "gpu_hours": held["gpu"], "mem_gib_hours": held["mem_gib"]}
print(json.dumps({k: {"report": told[k], "truth": true[k], "off": told[k] / true[k] - 1} for k in told}))
"""


def chain(month: Path, work: Path) -> Run:
    """Ingest and report of the month's evidence, in a new folder: two processes, their times added."""
    with tempfile.TemporaryDirectory(prefix="report-", dir=work) as name:
        folder = Path(name) / "month"
        shutil.copytree(month / "evidence", folder / "evidence")
        shutil.copy(month / "audit.toml", folder)
        parts = [run([sys.executable, "-m", "audit", verb, "--dir", str(folder)]) for verb in ("ingest", "report")]
        shutil.copy(folder / "out" / "report.pdf", work / "report.pdf")
        return Run(sum(p.elapsed_s for p in parts), max(p.peak_rss_bytes for p in parts))


def truth(month: Path) -> dict[str, dict[str, float]]:
    """Each of the month's sums beside a reckoning of its own, attempt by attempt, from dumps and truth."""
    import subprocess

    run([sys.executable, "-m", "audit", "ingest", "--dir", str(month)])
    said = subprocess.run([sys.executable, "-c", _TRUTH, str(month)], capture_output=True, check=True, text=True)
    return dict(json.loads(said.stdout))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs; their median counts")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-benchmarks")
    options = parser.parse_args()
    month = options.work / "reference-month"
    if not (month / "truth").exists():
        options.work.mkdir(parents=True, exist_ok=True)
        size = ["--jobs", str(JOBS), "--gpus", str(GPUS), "--days", str(DAYS), "--only-generate"]
        run([sys.executable, "-m", "audit", "demo", str(month), *size])
    runs = alternate({"chain": lambda: chain(month, options.work)}, options.runs)["chain"]
    compared = truth(month)
    size_bytes = (options.work / "report.pdf").stat().st_size
    figures = {
        "benchmark": "report",
        "jobs": JOBS,
        "gpus": GPUS,
        "chain": summary(runs),
        "limit_s": LIMIT_S,
        "pdf_bytes": size_bytes,
        "limit_pdf_bytes": LIMIT_PDF_BYTES,
        "beside_the_truth": compared,
    }
    exact = all(abs(item["off"]) < 1e-7 for item in compared.values())
    return finish(figures, passed=median_s(runs) <= LIMIT_S and size_bytes <= LIMIT_PDF_BYTES and exact)


if __name__ == "__main__":
    sys.exit(main())
