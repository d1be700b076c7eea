"""Telemetry in Parquet turned into `usage`, beside one plain GROUP BY over the same files; segments beside `zcat`.

Both start as processes with two threads and the same memory. A tenth of the intervals is worked out as well: memory
has to stay flat.
Usage: python -m benchmarks.telemetry [--rows N] [--runs N] [--work DIR]
"""

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Run, alternate, finish, median_s, run, summary
from benchmarks.telemetry_store import CARDS, JOBS

LIMIT_RATIO, LIMIT_BYTES = 6.0, 4 << 30
SETTINGS = "SET threads = 2; SET memory_limit = '3GB'; SET preserve_insertion_order = false"
USAGE = f"""
import sys
from pathlib import Path
from audit.accounting.views import create_use_views
from audit.store import open_store
from audit.workspace import find_workspace
folder = Path(sys.argv[1])
space = find_workspace(folder)
with open_store(space) as store:
    store.connection.execute("{SETTINGS}")
    for name in ("sample_job", "sample_gpu"):
        path = str(folder / f"{{name}}.parquet").replace("'", "''")
        store.connection.execute(f"CREATE TEMP VIEW {{name}} AS SELECT * FROM read_parquet('{{path}}')")
    create_use_views(store.connection, space)
    query = ("SELECT count(*) FROM usage WHERE mem_source = 'cgroup' AND core_source = 'cgroup'"
        " AND (held_gpus = 0 OR gpu_source = 'telemetry')")
    measured, all_of = (store.connection.execute(q).fetchall()[0][0] for q in (query, "SELECT count(*) FROM usage"))
    assert measured >= 0.99 * all_of > 0, (measured, all_of)
"""
GROUPED = f"""
import sys, duckdb
from pathlib import Path
connection = duckdb.connect()
connection.execute("{SETTINGS}")
jobs, cards = (str(Path(sys.argv[1]) / name).replace("'", "''") for name in ("{JOBS}", "{CARDS}"))
connection.execute(f'''
CREATE TABLE grouped AS
SELECT node, subject, avg(used) AS used_mean, max(bytes) AS bytes_max, sum(interval_s) AS watched_s FROM (
    SELECT node, job AS subject, cpu_s AS used, anon_shmem_bytes_max AS bytes, interval_s FROM read_parquet('{{jobs}}')
    UNION ALL
    SELECT node, uuid, util_mean, mem_bytes_max, interval_s FROM read_parquet('{{cards}}')
) GROUP BY node, subject''')
"""
READ = """
import sys
from pathlib import Path
from audit.evidence import READERS, Context
path = Path(sys.argv[1])
for nth, batch in enumerate(READERS["collector segment"](path, Context("big", "UTC"))):
    for table, rows in batch.rows.items():
        rows.write_parquet(path.parent / f"{table}-{nth}.parquet")
"""
COLUMNS = {
    "interval": "from_s to_s mono_s samples missed late_max_s own_cpu_s own_rss_bytes own_written_bytes jobs".split(),
    "job": "job since_s from_s to_s samples cpu_s cpu_source cores_max anon_shmem_bytes_min anon_shmem_bytes_mean "
    "anon_shmem_bytes_max file_bytes_max kernel_peak_bytes limit_bytes oom_kills processes_max".split(),
    "gpu": "uuid minor index from_s to_s samples util_mean util_min util_max util_samples mem_bytes_min "
    "mem_bytes_mean mem_bytes_max mem_total_bytes power_w_mean power_w_max energy_j sm_clock_mhz_mean "
    "temperature_c_max holder".split(),
}


def store(work: Path, rows: int) -> Path:
    """The folder of that many intervals; made once, by a process of its own."""
    folder = work / f"telemetry-{rows}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "benchmarks.telemetry_store", str(folder), str(rows)])
        (folder / "made").touch()
    return folder


def write_segment(path: Path, minutes: int) -> int:
    """A segment of a node with 64 jobs and 8 GPUs; answers the bytes of its text."""
    header = {"format": 1, "node": "n1", "cluster": "big", "role": "node", "boot_id": "b", "columns": COLUMNS}
    size = 0
    with path.open("wb") as file:
        for m in range(minutes):
            at = 1777593600 + 60 * m
            span = f"{at}\t{at + 60}"
            lines = [f"#{json.dumps(header)}"] if m == 0 else []
            lines.append(f"interval\t{span}\t{1000 + 60 * m}.25\t6\t0\t0.004\t0.012\t17825792\t4096\t64")
            for j in range(64):
                seen = f"{(m * 7 + j) % 60}.{(m * j) % 1000:03}\tcpuacct\t{1 + (m + j) % 16}"
                kept = "\t".join(str((m * 31 + j * k) % 4096 * 1048576) for k in range(1, 7))
                lines.append(f"job\t{4000 + j}\t1777593600\t{span}\t6\t{seen}\t{kept}\t0\t{j}")
            for g in range(8):
                kept = "\t".join(str((m * 31 + g * k) % 40960 * 1048576) for k in range(1, 5))
                told = f"{(m + g) % 101}\t0\t100\t300\t{kept}\t{300 + m % 400}.5\t700\t{m}\t1980\t59\t{4000 + g}"
                lines.append(f"gpu\tGPU-00000000-0000-0000-0000-00000000000{g}\t{g}\t{g}\t{span}\t6\t{told}")
            text = ("\n".join(lines) + "\n").encode()
            size += len(text)
            file.write(gzip.compress(text, 6, mtime=0))
    return size


def segments(work: Path, runs: int) -> dict[str, object]:
    """A day's segments to Parquet in MB of text a second, and `zcat` of the same file."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        path = Path(folder) / "n1-node.seg.gz"
        size = write_segment(path, 10 * 1440)
        subjects = {
            "read": lambda: run([sys.executable, "-c", READ, str(path)]),
            "start": lambda: run([sys.executable, "-c", "from audit.evidence import READERS"]),
            "zcat": lambda: run(["zcat", str(path)]),
        }
        found = alternate(subjects, runs)
        reading_s = median_s(found["read"]) - median_s(found["start"])
        return {
            "text_bytes": size,
            "file_bytes": path.stat().st_size,
            "read_mb_per_s": round(size / 1e6 / reading_s, 1),
            "zcat_mb_per_s": round(size / 1e6 / median_s(found["zcat"]), 1),
            **{name: summary(of_one) for name, of_one in found.items()},
        }


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000, help="intervals, two thirds of jobs")
    parser.add_argument("--runs", type=int, default=3, help="turns; their medians are compared")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-benchmarks")
    options = parser.parse_args()
    whole, tenth = (store(options.work, n) for n in (options.rows, options.rows // 10))

    def python(code: str, folder: Path) -> Run:
        return run([sys.executable, "-c", code, str(folder)])

    runs = alternate(
        {
            "usage": lambda: python(USAGE, whole),
            "group_by": lambda: python(GROUPED, whole),
            "usage_of_a_tenth": lambda: python(USAGE, tenth),
        },
        options.runs,
    )
    ratio = median_s(runs["usage"]) / median_s(runs["group_by"])
    memory, of_a_tenth = (max(one.peak_rss_bytes for one in runs[name]) for name in ("usage", "usage_of_a_tenth"))
    figures = {
        "benchmark": "telemetry",
        "intervals": options.rows,
        "parquet_bytes": sum((whole / name).stat().st_size for name in (JOBS, CARDS)),
        **{name: summary(of_one) for name, of_one in runs.items()},
        "ratio": round(ratio, 2),
        "ratio_limit": LIMIT_RATIO,
        "memory_growth": round(memory / of_a_tenth, 2),
        "peak_rss_limit_bytes": LIMIT_BYTES,
        "segments": segments(options.work, options.runs),
    }
    return finish(figures, passed=ratio <= LIMIT_RATIO and memory <= LIMIT_BYTES)


if __name__ == "__main__":
    sys.exit(main())
