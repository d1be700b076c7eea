"""Makes a store of any number of attempts, on one and a half nodes each, straight into the canonical tables.

Usage: python -m benchmarks.accounting_store FOLDER ATTEMPTS
"""

import sys
from pathlib import Path

from audit.store import open_store
from audit.workspace import config_text, create_workspace

NODES = 2_000  # of 128 cores, 1 TiB and 8 GPUs; a window of 30 days
SLOTS = 16  # attempts beside one another on a node: two thirds of them on two nodes would overfill fewer
WINDOW_S = 30 * 86400
START = "TIMESTAMP '2026-05-01 00:00:00'"

# Attempt i sits in slot i modulo all slots, after those that were there before it; every second one takes the
# node beside it as well.
_ATTEMPT = f"""
SELECT i, node, extra, {START} + to_seconds(floor(turn * slot_s)) AS start_time,
    {START} + to_seconds(floor(turn * slot_s) - i % 600) AS submit,
    {START} + to_seconds(floor(turn * slot_s) - i % 300) AS eligible,
    {START} + to_seconds(floor((turn + 1) * slot_s) - i % 7) AS end_time,
    floor((turn + 1) * slot_s) - i % 7 - floor(turn * slot_s) AS elapsed_s,
    CASE WHEN i % 4 = 0 THEN 1.0 ELSE 0 END AS gpus
FROM (
    SELECT i, i // {NODES * SLOTS} AS turn, (i % {NODES * SLOTS}) // {SLOTS} AS node, i % 2 AS extra,
        {WINDOW_S}.0 * {NODES * SLOTS} / $attempts AS slot_s
    FROM range($attempts) AS r(i)
) AS placed
"""
_JOBS = f"""
INSERT INTO job_record BY NAME
SELECT 1 AS file_id, i AS line, 'big' AS cluster, CAST(i AS VARCHAR) AS job_id_raw, CAST(i AS VARCHAR) AS job_id,
    submit, eligible, start_time, end_time, elapsed_s, 86400.0 AS time_limit_s,
    'user' || i % 997 AS user_name, 'account' || i % 61 AS account, 'part' || i % 5 AS partition,
    'train_' || i % 4999 || '_' || i % 100 AS job_name,
    CASE WHEN i % 11 = 0 THEN 'FAILED' ELSE 'COMPLETED' END AS state, 1 + extra AS node_count,
    CASE WHEN extra = 1 THEN 'n' || node || ',n' || (node + 1) % {NODES} ELSE 'n' || node END AS node_list,
    false AS exclusive, 2.0 * (1 + extra) AS req_cores, (1 + extra) * (2 + i % 79) * 1073741824 AS req_mem_bytes,
    2.0 * (1 + extra) AS alloc_cores, (1 + extra) * (2 + i % 79) * 1073741824 AS alloc_mem_bytes,
    gpus AS req_gpus, gpus AS alloc_gpus, CASE WHEN gpus > 0 THEN 'gpu:h100=1' ELSE '' END AS alloc_gres,
    1000.0 + i % 5000 AS cpu_s, false AS superseded
FROM attempt
"""
_STEPS = """
INSERT INTO step_record BY NAME
SELECT 1 AS file_id, i AS line, 'big' AS cluster, CAST(i AS VARCHAR) AS job_id_raw, submit, 'batch' AS step_id,
    'COMPLETED' AS state, start_time, end_time, elapsed_s, 1 AS tasks, (1 + i % 23) * 536870912 AS rss_bytes,
    false AS superseded
FROM attempt WHERE i % 13 <> 0
"""
_HOSTS = f"""
INSERT INTO host_list
SELECT 'n' || i, 'n' || i FROM range({NODES}) AS r(i)
UNION ALL SELECT 'n' || i || ',n' || (i + 1) % {NODES}, 'n' || i FROM range({NODES}) AS r(i)
UNION ALL SELECT 'n' || i || ',n' || (i + 1) % {NODES}, 'n' || (i + 1) % {NODES} FROM range({NODES}) AS r(i)
"""
_NODE = f"""
INSERT INTO node_record BY NAME
SELECT 1 AS file_id, 'big' AS cluster, 'n' || i AS node, 128.0 AS cores, 1099511627776 AS mem_bytes, 8.0 AS gpus,
    'gpu:h100=8' AS gres, 'h100' AS gpu_type, 'part' || i % 5 AS partitions FROM range({NODES}) AS r(i)
"""
_EVENT = f"""
INSERT INTO node_state_record BY NAME
SELECT 1 AS file_id, 'big' AS cluster, 'n' || i AS node, {START} AS from_time, {START} + to_seconds(3600) AS to_time,
    'DOWN' AS state FROM range(0, {NODES}, 97) AS r(i)
"""


def make(folder: Path, attempts: int) -> None:
    """A workspace in `folder` whose store holds that many attempts."""
    text = config_text(cluster="big", timezone="UTC", window_from="2026-05-01", window_to="2026-05-31")
    space = create_workspace(folder, text)
    with open_store(space, write=True) as store:
        store.connection.execute("CREATE TEMP TABLE attempt AS " + _ATTEMPT, {"attempts": attempts})
        for statement in (_JOBS, _STEPS, _HOSTS, _NODE, _EVENT):
            store.connection.execute(statement)


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
