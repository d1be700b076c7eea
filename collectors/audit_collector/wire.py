"""The wire format of a segment: kinds, their columns, and how a line is written. Touches nothing."""

COLUMNS = {
    "interval": (
        "from_s to_s mono_s samples missed late_max_s own_cpu_s own_rss_bytes own_written_bytes jobs unmapped busy"
    ).split(),
    "job": (
        "job since_s from_s to_s samples cpu_s cpu_source cores_max anon_shmem_bytes_min anon_shmem_bytes_mean"
        " anon_shmem_bytes_max file_bytes_max kernel_peak_bytes limit_bytes swap_bytes_max oom_kills throttled_s"
        " read_bytes write_bytes processes_max"
    ).split(),
    "node": (
        "from_s to_s samples cores cpu_busy_mean cpu_busy_max iowait_mean load1_max mem_total_bytes"
        " mem_available_bytes_min swap_used_bytes_max psi_cpu_some_s psi_mem_some_s psi_mem_full_s psi_io_some_s"
        " psi_io_full_s net_rx_bytes net_tx_bytes ib_rx_bytes ib_tx_bytes disk_read_bytes disk_write_bytes disk_busy_s"
        " nfs_read_bytes nfs_write_bytes lustre_read_bytes lustre_write_bytes"
    ).split(),
    "event": "at_s kind text".split(),
    "gap": "from_s to_s reason".split(),
}
CONTROLLER_COLUMNS = {
    "interval": COLUMNS["interval"],
    "alloc": (
        "at_s job_id array_job_id array_task_id het_job_id start_s state node cpu_ids mem_bytes gres gpu_index"
        " gpu_count sluid"
    ).split(),
    "state": "at_s node state reason".split(),
    "event": COLUMNS["event"],
    "gap": COLUMNS["gap"],
}

_ESCAPED = {code: "\\x%02x" % code for code in list(range(32)) + [92, 127] + list(range(128, 160))}


def field(value: object) -> str:
    """One field as written: empty where `value` is None (not measured); control characters as \\xHH."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.translate(_ESCAPED)
    if isinstance(value, float):
        text = "%.6f" % value
        return text.rstrip("0").rstrip(".") if "." in text else ""
    return str(int(value))


def line(kind: str, fields: object) -> str:
    """One line of a segment, its LF included."""
    return kind + "\t" + "\t".join([field(value) for value in fields]) + "\n"
