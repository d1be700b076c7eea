"""Makes telemetry of any number of intervals in Parquet, and a store of the attempts behind it.

192 nodes of eight jobs at a time, four of which hold a GPU each, all of nine hours; an interval a minute. A cluster so
large fills 100 million intervals in a month, with 123 thousand jobs; fewer make the window shorter.

Usage: python -m benchmarks.telemetry_store FOLDER INTERVALS
"""

import sys
from pathlib import Path

from audit.store import open_store
from audit.workspace import config_text, create_workspace

NODES, SLOTS, GPUS, JOB_MINUTES = 192, 8, 4, 540
START = "TIMESTAMP '2026-05-01 00:00:00'"
JOBS, CARDS = "sample_job.parquet", "sample_gpu.parquet"

# Job k of slot s of node n runs minutes 540 k to 540 k + 539, its id counts them all.
_ID = f"(m // {JOB_MINUTES} * {NODES * SLOTS} + n * {SLOTS} + s)"
_JOB = f"""
COPY (
    SELECT 1 AS file_id, m AS interval_no, 'big' AS cluster, 'n' || n AS node, {START} + to_minutes(m) AS from_time,
        60.0 AS interval_s, CAST({_ID} AS VARCHAR) AS job, {START} + to_minutes(m - m % {JOB_MINUTES}) AS since_time,
        6 AS samples, hash(m, n, s) % 9600000 / 10000.0 AS cpu_s, 'cpuacct' AS cpu_source,
        hash(m, n, s, 1) % 160000 / 10000.0 AS cores_max,
        CAST(hash(m, n, s, 2) % 4194304 AS BIGINT) * 4096 AS anon_shmem_bytes_max,
        CAST(hash(m, n, s, 3) % 4194304 AS BIGINT) * 4096 AS file_bytes_max,
        CAST(hash(m, n, s, 4) % 4194304 AS BIGINT) * 4096 AS kernel_peak_bytes,
        0 AS oom_kills, 0.0 AS throttled_s, CAST(hash(m, n, s, 5) % 4194304 AS BIGINT) * 4096 AS read_bytes,
        CAST(hash(m, n, s, 6) % 4194304 AS BIGINT) * 4096 AS write_bytes, 0.0 AS shift_s
    FROM range($minutes) AS a(m), range({NODES}) AS b(n), range({SLOTS}) AS c(s)
) TO '{{path}}' (FORMAT parquet)
"""
_CARD = f"""
COPY (
    SELECT 1 AS file_id, m AS interval_no, 'big' AS cluster, 'n' || n AS node, {START} + to_minutes(m) AS from_time,
        60.0 AS interval_s, 'GPU-00000000-0000-0000-0000-' || lpad(CAST(n * {GPUS} + s AS VARCHAR), 12, '0') AS uuid,
        s AS minor, s AS index, 6 AS samples, hash(m, n, s, 1) % 100000 / 1000.0 AS util_mean,
        CAST(hash(m, n, s, 2) % 100 + 1 AS DOUBLE) AS util_max,
        CAST(hash(m, n, s, 3) % 20971520 AS BIGINT) * 4096 AS mem_bytes_max,
        hash(m, n, s, 4) % 700000 / 1000.0 AS power_w_mean, 0 AS throttle_bits, 0.0 AS throttled_s, 0 AS mig,
        (1 + hash(m, n, s, 5) % 100000) / 100001.0 AS graphics_active_mean,
        CAST({_ID} AS VARCHAR) AS holder, 'devices' AS holder_source, 0.0 AS shift_s
    FROM range($minutes) AS a(m), range({NODES}) AS b(n), range({GPUS}) AS c(s)
) TO '{{path}}' (FORMAT parquet)
"""
_ATTEMPT = f"""
INSERT INTO job_record BY NAME
SELECT 1 AS file_id, i AS line, 'big' AS cluster, CAST(i AS VARCHAR) AS job_id_raw, CAST(i AS VARCHAR) AS job_id,
    {START} + to_minutes(i // {NODES * SLOTS} * {JOB_MINUTES}) AS submit,
    {START} + to_minutes(i // {NODES * SLOTS} * {JOB_MINUTES}) AS start_time,
    {START} + to_minutes((i // {NODES * SLOTS} + 1) * {JOB_MINUTES}) AS end_time, {JOB_MINUTES * 60}.0 AS elapsed_s,
    'user' || i % 997 AS user_name, 'account' || i % 61 AS account, 'main' AS partition, 'train' AS job_name,
    'COMPLETED' AS state, 1 AS node_count, 'n' || (i // {SLOTS}) % {NODES} AS node_list, false AS exclusive,
    16.0 AS alloc_cores, 17179869184 AS alloc_mem_bytes,
    CASE WHEN i % {SLOTS} < {GPUS} THEN 1.0 ELSE 0 END AS alloc_gpus,
    CASE WHEN i % {SLOTS} < {GPUS} THEN 'gpu:h100=1' ELSE '' END AS alloc_gres, 1000.0 AS cpu_s, false AS superseded
FROM range($attempts) AS r(i)
"""
_ALLOCATION = f"""
INSERT INTO allocation_seen BY NAME
SELECT 1 AS file_id, 'big' AS cluster, node_list AS node, start_time + to_seconds(30) AS at_time, job_id_raw AS job_id,
    start_time, CAST(CAST(job_id_raw AS BIGINT) % {SLOTS} AS VARCHAR) AS gpu_index, 'gpu:h100' AS gres
FROM job_record WHERE alloc_gpus > 0
"""
_NODE = f"""
INSERT INTO node_record BY NAME
SELECT 1 AS file_id, 'big' AS cluster, 'n' || i AS node, 128.0 AS cores, 1099511627776 AS mem_bytes, {GPUS}.0 AS gpus,
    'gpu:h100={GPUS}' AS gres, 'h100' AS gpu_type, 'main' AS partitions FROM range({NODES}) AS r(i)
"""
_HOST = f"INSERT INTO host_list SELECT 'n' || i, 'n' || i FROM range({NODES}) AS r(i)"


def make(folder: Path, intervals: int) -> None:
    """A workspace in `folder` with the attempts, and the telemetry beside it."""
    turns = max(1, round(intervals / (NODES * (SLOTS + GPUS) * JOB_MINUTES)))
    minutes = turns * JOB_MINUTES
    space = create_workspace(folder, config_text(cluster="big", timezone="UTC"))
    with open_store(space, write=True) as store:
        store.connection.execute("SET memory_limit = '3GB'")
        for text, name in ((_JOB, JOBS), (_CARD, CARDS)):
            path = str(folder / name).replace("'", "''")
            store.connection.execute(text.format(path=path), {"minutes": minutes})
        store.connection.execute(_ATTEMPT, {"attempts": NODES * SLOTS * turns})
        for text in (_ALLOCATION, _NODE, _HOST):
            store.connection.execute(text)


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
