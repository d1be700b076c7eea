"""What every reader takes and yields: a file, what is known beforehand, and batches of canonical rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from audit.errors import AuditError
from audit.evidence.telemetry import TELEMETRY

Schema = Mapping[str, type[pl.DataType] | pl.DataType]

_TIME = pl.Datetime("us")
_KEY: Schema = {"cluster": pl.String, "job_id_raw": pl.String, "submit": _TIME}

JOB_SCHEMA: Schema = {
    "line": pl.Int64,
    **_KEY,
    "job_id": pl.String,
    "array_job_id": pl.String,
    "array_task_id": pl.Int64,
    "array_tasks": pl.Int64,
    "het_job_id": pl.String,
    "het_offset": pl.Int64,
    "db_index": pl.String,
    "sluid": pl.String,
    "original_sluid": pl.String,
    "user_name": pl.String,
    "account": pl.String,
    "partition": pl.String,
    "qos": pl.String,
    "job_name": pl.String,
    "state": pl.String,
    "exit_code": pl.String,
    "derived_exit_code": pl.String,
    "eligible": _TIME,
    "start_time": _TIME,
    "end_time": _TIME,
    "elapsed_s": pl.Float64,
    "suspended_s": pl.Float64,
    "time_limit_s": pl.Float64,
    "node_count": pl.Int64,
    "node_list": pl.String,
    "exclusive": pl.Boolean,
    "req_cores": pl.Float64,
    "req_mem_bytes": pl.Int64,
    "req_gpus": pl.Float64,
    "req_gres": pl.String,
    "alloc_cores": pl.Float64,
    "alloc_mem_bytes": pl.Int64,
    "alloc_gpus": pl.Float64,
    "alloc_shards": pl.Float64,
    "alloc_gres": pl.String,
    "cpu_s": pl.Float64,
    "tasks": pl.Int64,
    "max_rss_bytes": pl.Int64,
    "rss_bytes": pl.Int64,
}
STEP_SCHEMA: Schema = {
    "line": pl.Int64,
    **_KEY,
    "step_id": pl.String,
    "db_index": pl.String,
    "state": pl.String,
    "exit_code": pl.String,
    "start_time": _TIME,
    "end_time": _TIME,
    "elapsed_s": pl.Float64,
    "node_count": pl.Int64,
    "node_list": pl.String,
    "tasks": pl.Int64,
    "alloc_cores": pl.Float64,
    "alloc_mem_bytes": pl.Int64,
    "max_rss_bytes": pl.Int64,
    "ave_rss_bytes": pl.Int64,
    "rss_bytes": pl.Int64,
    "cpu_s": pl.Float64,
    "read_bytes": pl.Int64,
    "write_bytes": pl.Int64,
    "gpu_util": pl.Float64,
    "gpu_mem_bytes": pl.Int64,
}
NODE_SCHEMA: Schema = {
    "cluster": pl.String,
    "node": pl.String,
    "seen": _TIME,
    "cores": pl.Float64,
    "vcpus": pl.Float64,
    "mem_bytes": pl.Int64,
    "gpus": pl.Float64,
    "gres": pl.String,
    "gpu_type": pl.String,
    "shards": pl.Float64,
    "threads_per_core": pl.Int64,
    "partitions": pl.String,
}
STATE_SCHEMA: Schema = {
    "cluster": pl.String,
    "node": pl.String,
    "from_time": _TIME,
    "to_time": _TIME,
    "state": pl.String,
    "reason": pl.String,
}
GPU_SCHEMA: Schema = {
    **_KEY,
    "node": pl.String,
    "gpu": pl.String,
    "gpu_util": pl.Float64,
    "gpu_mem_bytes": pl.Int64,
    "gpu_total_bytes": pl.Int64,
    "node_mem_bytes": pl.Int64,
    "node_cpu_s": pl.Float64,
}
UTILIZATION_SCHEMA: Schema = {
    "cluster": pl.String,
    "tres": pl.String,
    "from_time": _TIME,
    "to_time": _TIME,
    "allocated_s": pl.Int64,
    "down_s": pl.Int64,
    "planned_down_s": pl.Int64,
    "idle_s": pl.Int64,
    "reserved_s": pl.Int64,
    "reported_s": pl.Int64,
}
REJECT_SCHEMA: Schema = {
    "line": pl.Int64,
    "reason": pl.String,
    "text": pl.String,
}
HOST_SCHEMA: Schema = {"node_list": pl.String, "node": pl.String}

# The store's table for each kind of row a reader yields.
TABLES: dict[str, Schema] = {
    "job_record": JOB_SCHEMA,
    "step_record": STEP_SCHEMA,
    "node_record": NODE_SCHEMA,
    "node_state_record": STATE_SCHEMA,
    "gpu_record": GPU_SCHEMA,
    "sreport_record": UTILIZATION_SCHEMA,
    "host_list": HOST_SCHEMA,
    "reject_record": REJECT_SCHEMA,
    **TELEMETRY,
}


class EvidenceError(AuditError):
    """A file that cannot be taken as evidence as a whole."""


@dataclass(frozen=True)
class Context:
    """What a reader must know that its file may not say.

    `columns` names the columns of a dump without header, `delimiter` overrides the one its header shows,
    `timezone` is that of times without offset; rows of another `cluster` are left out and counted. `name` is the
    file's own, as it was given: some files say nowhere else which node they are of.
    """

    cluster: str
    timezone: str
    columns: tuple[str, ...] = ()
    delimiter: str = ""
    name: str = ""


@dataclass(frozen=True)
class Batch:
    """Canonical rows by table (schemas above), and how many rows were another cluster's, and of which one."""

    rows: dict[str, pl.DataFrame] = field(default_factory=dict)
    other_cluster: int = 0
    other_name: str = ""


Reader = Callable[[Path, Context], Iterator[Batch]]
