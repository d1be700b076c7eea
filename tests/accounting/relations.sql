-- The relations that the store gives, with the columns this room reads.
CREATE TABLE job (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, job_id VARCHAR, het_job_id VARCHAR,
    partition VARCHAR, state VARCHAR, start_time TIMESTAMP, end_time TIMESTAMP, elapsed_s DOUBLE,
    suspended_s DOUBLE, node_count BIGINT, cpu_s DOUBLE, derived_exit_code VARCHAR,
    tasks BIGINT, max_rss_bytes BIGINT, rss_bytes BIGINT, user_name VARCHAR, account VARCHAR, job_name VARCHAR,
    eligible TIMESTAMP, time_limit_s DOUBLE, req_cores DOUBLE, req_mem_bytes BIGINT, req_gpus DOUBLE,
    array_tasks BIGINT, sluid VARCHAR
);
CREATE VIEW attempt_name AS
SELECT cluster, unnest([job_id_raw, sluid]) AS name, job_id_raw, submit FROM job;
CREATE TABLE span (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, from_time TIMESTAMP, to_time TIMESTAMP,
    node_list VARCHAR, node_count BIGINT, cores DOUBLE, mem_bytes BIGINT, gpus DOUBLE, shards DOUBLE,
    gres VARCHAR, exclusive BOOLEAN, partition VARCHAR
);
CREATE TABLE step (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, step_id VARCHAR, state VARCHAR,
    start_time TIMESTAMP,
    end_time TIMESTAMP, elapsed_s DOUBLE, tasks BIGINT, max_rss_bytes BIGINT, rss_bytes BIGINT,
    cpu_s DOUBLE, gpu_util DOUBLE, gpu_mem_bytes BIGINT, read_bytes BIGINT, write_bytes BIGINT
);
CREATE TABLE node (
    cluster VARCHAR, node VARCHAR, from_time TIMESTAMP, to_time TIMESTAMP, cores DOUBLE,
    vcpus DOUBLE, mem_bytes BIGINT, gpus DOUBLE, gres VARCHAR, gpu_type VARCHAR, shards DOUBLE,
    threads_per_core BIGINT, partitions VARCHAR
);
CREATE TABLE node_state (
    cluster VARCHAR, node VARCHAR, from_time TIMESTAMP, to_time TIMESTAMP, state VARCHAR, reason VARCHAR,
    is_down BOOLEAN
);
CREATE TABLE window_bounds (
    from_time TIMESTAMP, to_time TIMESTAMP, is_default BOOLEAN
);
CREATE TABLE slice_node (
    cluster VARCHAR, node VARCHAR
);
CREATE TABLE host_list (
    node_list VARCHAR, node VARCHAR
);
CREATE TABLE gpu_summary (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, node VARCHAR, gpu VARCHAR, gpu_util DOUBLE,
    gpu_mem_bytes BIGINT, gpu_total_bytes BIGINT, node_mem_bytes BIGINT, node_cpu_s DOUBLE
);
CREATE TABLE sample_interval (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, mono_s DOUBLE, samples BIGINT, missed BIGINT, late_max_s DOUBLE,
    own_cpu_s DOUBLE, own_rss_bytes BIGINT, own_written_bytes BIGINT, jobs BIGINT, unmapped BIGINT, busy BIGINT,
    boot_id VARCHAR, role VARCHAR, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE sample_job (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, job VARCHAR, since_time TIMESTAMP, samples BIGINT, cpu_s DOUBLE,
    cpu_source VARCHAR, cores_max DOUBLE, anon_shmem_bytes_min BIGINT, anon_shmem_bytes_mean BIGINT,
    anon_shmem_bytes_max BIGINT, file_bytes_max BIGINT, kernel_peak_bytes BIGINT, limit_bytes BIGINT, swap_bytes_max
    BIGINT, oom_kills BIGINT, throttled_s DOUBLE, read_bytes BIGINT, write_bytes BIGINT, processes_max BIGINT,
    shift_s DOUBLE DEFAULT 0
);
CREATE TABLE sample_gpu (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, uuid VARCHAR, minor BIGINT, "index" BIGINT, samples BIGINT,
    util_mean DOUBLE, util_min DOUBLE, util_max DOUBLE, util_samples BIGINT, mem_bytes_min BIGINT, mem_bytes_mean
    BIGINT, mem_bytes_max BIGINT, mem_total_bytes BIGINT, mem_reserved_bytes BIGINT, power_w_mean DOUBLE,
    power_w_max DOUBLE, energy_j DOUBLE, sm_clock_mhz_mean DOUBLE, temperature_c_max DOUBLE, throttle_bits BIGINT,
    throttled_s DOUBLE, ecc_uncorrected BIGINT, ecc_corrected BIGINT, mig BIGINT, processes_max BIGINT,
    sm_active_mean DOUBLE, graphics_active_mean DOUBLE, tensor_active_mean DOUBLE, dram_active_mean DOUBLE,
    pcie_rx_bytes BIGINT, pcie_tx_bytes BIGINT, nvlink_rx_bytes BIGINT, nvlink_tx_bytes BIGINT, holder VARCHAR,
    holder_source VARCHAR, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE sample_gpu_job (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, uuid VARCHAR, job VARCHAR, mem_bytes_max BIGINT, processes_max
    BIGINT, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE sample_mig (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, uuid VARCHAR, mig_uuid VARCHAR, gi BIGINT, ci BIGINT, slices
    BIGINT, memory_slices BIGINT, samples BIGINT, mem_bytes_max BIGINT, mem_total_bytes BIGINT, processes_max
    BIGINT, holder VARCHAR, sm_active_mean DOUBLE, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE sample_node (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, samples BIGINT, cores BIGINT, cpu_busy_mean DOUBLE, cpu_busy_max
    DOUBLE, iowait_mean DOUBLE, load1_max DOUBLE, mem_total_bytes BIGINT, mem_available_bytes_min BIGINT,
    swap_used_bytes_max BIGINT, psi_cpu_some_s DOUBLE, psi_mem_some_s DOUBLE, psi_mem_full_s DOUBLE, psi_io_some_s
    DOUBLE, psi_io_full_s DOUBLE, net_rx_bytes BIGINT, net_tx_bytes BIGINT, ib_rx_bytes BIGINT, ib_tx_bytes BIGINT,
    disk_read_bytes BIGINT, disk_write_bytes BIGINT, disk_busy_s DOUBLE, nfs_read_bytes BIGINT, nfs_write_bytes
    BIGINT, lustre_read_bytes BIGINT, lustre_write_bytes BIGINT, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE collector_event (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, at_time
    TIMESTAMP, kind VARCHAR, text VARCHAR, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE collector_gap (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, from_time
    TIMESTAMP, interval_s DOUBLE, reason VARCHAR, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE allocation_seen (
    interval_no INTEGER, cluster VARCHAR, node VARCHAR, at_time
    TIMESTAMP, job_id VARCHAR, array_job_id VARCHAR, array_task_id VARCHAR, het_job_id VARCHAR, start_time
    TIMESTAMP, state VARCHAR, cpu_ids VARCHAR, mem_bytes BIGINT, gres VARCHAR, gpu_index VARCHAR, gpu_count BIGINT,
    sluid VARCHAR, shift_s DOUBLE DEFAULT 0
);
CREATE TABLE sreport_record (
    file_id INTEGER, cluster VARCHAR, tres VARCHAR, from_time TIMESTAMP, to_time TIMESTAMP, allocated_s BIGINT,
    down_s BIGINT, planned_down_s BIGINT, idle_s BIGINT, reserved_s BIGINT, reported_s BIGINT
);
CREATE TABLE reject (
    file VARCHAR, line BIGINT, reason VARCHAR, text VARCHAR
);
CREATE TABLE evidence_file (
    file_id INTEGER, sha256 VARCHAR, name VARCHAR, kind VARCHAR, size_bytes BIGINT, records BIGINT,
    attempts BIGINT, steps BIGINT, rejects BIGINT, samples BIGINT, other_cluster BIGINT, first_time TIMESTAMP,
    last_time TIMESTAMP, generated BOOLEAN
);
CREATE TABLE replay (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, quantile DOUBLE, cores DOUBLE, mem_bytes DOUBLE,
    gpus DOUBLE, abstained BOOLEAN
);
