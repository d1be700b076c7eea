"""What telemetry tells, by kind of line: its columns, how each is read and what it may be. Pure tables, no reading.

A collector's segments name their columns themselves; these are the ones that are known. The readers of exporters'
files fill the same tables. A column that a file lacks is NULL.
"""

from dataclasses import dataclass

import polars as pl

TEXT, REAL, COUNT = pl.String(), pl.Float64(), pl.Int64()
Columns = dict[str, pl.DataType]

_TIME = pl.Datetime("us")
_PLACE: Columns = {"interval_no": pl.Int32(), "cluster": TEXT, "node": TEXT}
_SPAN: Columns = {"from_time": _TIME, "interval_s": REAL}


def _real(names: str) -> Columns:
    return dict.fromkeys(names.split(), REAL)


def _count(names: str) -> Columns:
    return dict.fromkeys(names.split(), COUNT)


_INTERVAL: Columns = {
    **_real("mono_s"),
    **_count("samples missed"),
    **_real("late_max_s own_cpu_s"),
    **_count("own_rss_bytes own_written_bytes jobs unmapped busy"),
}
_JOB: Columns = {
    "job": TEXT,
    "since_time": _TIME,
    "samples": COUNT,
    "cpu_s": REAL,
    "cpu_source": TEXT,
    "cores_max": REAL,
    **_count("anon_shmem_bytes_min anon_shmem_bytes_mean anon_shmem_bytes_max file_bytes_max kernel_peak_bytes"),
    **_count("limit_bytes swap_bytes_max oom_kills"),
    "throttled_s": REAL,
    **_count("read_bytes write_bytes processes_max"),
}
_GPU: Columns = {
    "uuid": TEXT,
    **_count("minor index samples"),
    **_real("util_mean util_min util_max"),
    **_count("util_samples mem_bytes_min mem_bytes_mean mem_bytes_max mem_total_bytes mem_reserved_bytes"),
    **_real("power_w_mean power_w_max energy_j sm_clock_mhz_mean temperature_c_max"),
    "throttle_bits": COUNT,
    "throttled_s": REAL,
    **_count("ecc_uncorrected ecc_corrected mig processes_max"),
    **_real("sm_active_mean graphics_active_mean tensor_active_mean dram_active_mean"),
    **_count("pcie_rx_bytes pcie_tx_bytes nvlink_rx_bytes nvlink_tx_bytes"),
    "holder": TEXT,
    "holder_source": TEXT,
}
_GPU_JOB: Columns = {"uuid": TEXT, "job": TEXT, **_count("mem_bytes_max processes_max")}
_MIG: Columns = {
    "uuid": TEXT,
    "mig_uuid": TEXT,
    **_count("gi ci slices memory_slices samples mem_bytes_max mem_total_bytes processes_max"),
    "holder": TEXT,
    "sm_active_mean": REAL,
}
_NODE: Columns = {
    **_count("samples cores"),
    **_real("cpu_busy_mean cpu_busy_max iowait_mean load1_max"),
    **_count("mem_total_bytes mem_available_bytes_min swap_used_bytes_max"),
    **_real("psi_cpu_some_s psi_mem_some_s psi_mem_full_s psi_io_some_s psi_io_full_s"),
    **_count("net_rx_bytes net_tx_bytes ib_rx_bytes ib_tx_bytes disk_read_bytes disk_write_bytes"),
    "disk_busy_s": REAL,
    **_count("nfs_read_bytes nfs_write_bytes lustre_read_bytes lustre_write_bytes"),
}
_ALLOC: Columns = {
    "job_id": TEXT,
    "array_job_id": TEXT,
    "array_task_id": TEXT,
    "het_job_id": TEXT,
    "start_time": _TIME,
    "state": TEXT,
    "cpu_ids": TEXT,
    "mem_bytes": COUNT,
    "gres": TEXT,
    "gpu_index": TEXT,
    "gpu_count": COUNT,
    "sluid": TEXT,
}


@dataclass(frozen=True)
class Kind:
    """One kind of line: the table its rows go to, and its columns beside place and time.

    `is_point` kinds are seen at one time, the others over a span. A row without one of `needed` is none; in `jobs`
    stand job ids or SLUIDs and nothing else.
    """

    table: str
    columns: Columns
    is_point: bool = False
    needed: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()

    @property
    def times(self) -> tuple[str, ...]:
        """The columns that say when; a row without them is none."""
        return ("at_s",) if self.is_point else ("from_s", "to_s")

    @property
    def told(self) -> Columns:
        """The columns a line may carry beside its times."""
        return {**({"node": TEXT} if "node" in self.needed else {}), **self.columns}

    @property
    def schema(self) -> Columns:
        """The table's columns; where the row has no other place it is the file's node."""
        return {**_PLACE, **({"at_time": _TIME} if self.is_point else _SPAN), **self.columns}


KINDS = {
    "interval": Kind("sample_interval", {**_INTERVAL, "boot_id": TEXT, "role": TEXT}),
    "job": Kind("sample_job", _JOB, needed=("job",), jobs=("job",)),
    "gpu": Kind("sample_gpu", _GPU, needed=("uuid",)),
    "gpu_job": Kind("sample_gpu_job", _GPU_JOB, needed=("uuid", "job"), jobs=("job",)),
    "mig": Kind("sample_mig", _MIG, needed=("uuid", "mig_uuid")),
    "node": Kind("sample_node", _NODE),
    "event": Kind("collector_event", {"kind": TEXT, "text": TEXT}, is_point=True, needed=("kind",)),
    "gap": Kind("collector_gap", {"reason": TEXT}),
    "alloc": Kind("allocation_seen", _ALLOC, is_point=True, needed=("job_id", "node"), jobs=("job_id",)),
    "state": Kind("node_state_seen", {"state": TEXT, "reason": TEXT}, is_point=True, needed=("node", "state")),
}
# States become spans as they are read; all else is kept as it is.
TELEMETRY = {kind.table: dict(kind.schema) for name, kind in KINDS.items() if name != "state"}
FIRST_S, LAST_S = 946684800, 4102444800  # 2000 to 2100: no clock of a cluster says anything else
LONGEST_S = 366 * 86400.0

SHARES = frozenset(
    {*"cpu_busy_mean cpu_busy_max iowait_mean".split()}
    | {*"sm_active_mean graphics_active_mean tensor_active_mean dram_active_mean".split()}
)
PERCENTS = frozenset({"util_mean", "util_min", "util_max"})
MOST_REAL, MOST_COUNT = 1e15, 2**53  # what is more is no measurement, and sums of it are no numbers
UNBOUNDED = frozenset({"limit_bytes", "throttle_bits"})  # "no limit" is a large number; bits are none
MAY_BE_NEGATIVE = frozenset({"temperature_c_max", "array_task_id"})
