"""The models of an engagement in one process: what they hold of memory, and how long one forecast takes. Prints JSON.

Usage: python -m benchmarks.estimate_warm FOLDER
"""

import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from audit.sizing.estimate import Models, Question, estimate
from audit.sizing.histories import Job
from audit.sizing.identity import family
from audit.submission import from_job

RUNS = 400


def main() -> int:
    """Measures and prints."""
    folder = Path(sys.argv[1])
    before = _resident_bytes()
    started = time.perf_counter()
    models = Models.load(folder / "models")
    load_s = time.perf_counter() - started
    loaded = _resident_bytes() - before
    user, name, at_s, text = _common(folder)
    job = Job(user, None, family(name), "", 4.0, 16 * 2.0**30, 1.0, 3600.0, at_s)
    one = {name: _median_ms(lambda name=name: models.own[name].served.forecast(job)) for name in models.own}  # type: ignore[misc]
    submission, question = from_job(text), Question(at_s=at_s)
    figures = {
        "job": text,
        "load_s": round(load_s, 4),
        "loaded_bytes": loaded,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "one_target_ms": one,
        "all_targets_ms": round(sum(one.values()), 3),
        "whole_estimate_ms": _median_ms(lambda: estimate(submission, models, question)),
        "experts": {name: model.facts.expert for name, model in models.own.items()},
    }
    print(json.dumps(figures))
    return 0


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _common(folder: Path) -> tuple[str, str, float, str]:
    """The user and name with the most attempts, when the last of all ended, and a job of theirs for `--job`."""
    import duckdb

    with duckdb.connect(str(folder / "audit.duckdb"), read_only=True) as store:
        rows = store.execute(
            "SELECT user_name, any_value(job_name), (SELECT epoch(max(end_time)) FROM job_record) FROM job_record "
            "WHERE req_gpus > 0 AND end_time IS NOT NULL GROUP BY user_name, "
            "regexp_replace(job_name, '[0-9]+', '#', 'g') ORDER BY count(*) DESC, 1, 2 LIMIT 1"
        ).fetchall()
    user, name, at_s = rows[0]
    return user, name, at_s, f'user={user},name="{name}",cpus=4,mem=16G,gpus=1,time=1:00:00'


def _median_ms(call: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return round(1000 * statistics.median(times), 3)


if __name__ == "__main__":
    sys.exit(main())
