-- The relations that the store gives, with the columns this room reads.
CREATE TABLE job (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, job_id VARCHAR, het_job_id VARCHAR,
    partition VARCHAR, state VARCHAR, start_time TIMESTAMP, end_time TIMESTAMP, elapsed_s DOUBLE,
    suspended_s DOUBLE, node_count BIGINT, cpu_s DOUBLE, derived_exit_code VARCHAR,
    tasks BIGINT, max_rss_bytes BIGINT, rss_bytes BIGINT, user_name VARCHAR, account VARCHAR, job_name VARCHAR,
    eligible TIMESTAMP, time_limit_s DOUBLE, req_cores DOUBLE, req_mem_bytes BIGINT, req_gpus DOUBLE,
    array_tasks BIGINT
);
CREATE TABLE span (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, from_time TIMESTAMP, to_time TIMESTAMP,
    node_list VARCHAR, node_count BIGINT, cores DOUBLE, mem_bytes BIGINT, gpus DOUBLE, shards DOUBLE,
    gres VARCHAR, exclusive BOOLEAN, partition VARCHAR
);
CREATE TABLE step (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, step_id VARCHAR, state VARCHAR,
    start_time TIMESTAMP,
    end_time TIMESTAMP, elapsed_s DOUBLE, tasks BIGINT, max_rss_bytes BIGINT, rss_bytes BIGINT,
    cpu_s DOUBLE, gpu_util DOUBLE, gpu_mem_bytes BIGINT
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
CREATE TABLE gpu_map (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, node VARCHAR, uuid VARCHAR, gpu_index BIGINT
);
CREATE TABLE sample_job (
    cluster VARCHAR, node VARCHAR, job_id_raw VARCHAR, from_time TIMESTAMP, interval_s DOUBLE,
    samples BIGINT, cpu_s DOUBLE, anon_shmem_bytes_max BIGINT, file_bytes_max BIGINT,
    kernel_peak_bytes BIGINT, oom_kills BIGINT
);
CREATE TABLE sample_gpu (
    cluster VARCHAR, node VARCHAR, uuid VARCHAR, from_time TIMESTAMP, interval_s DOUBLE, samples BIGINT,
    gpu_util_mean DOUBLE, gpu_util_max DOUBLE, graphics_active_mean DOUBLE, gpu_mem_bytes_max BIGINT
);
CREATE TABLE reject (
    file VARCHAR, line BIGINT, reason VARCHAR, text VARCHAR
);
CREATE TABLE evidence_file (
    file_id INTEGER, sha256 VARCHAR, name VARCHAR, kind VARCHAR, size_bytes BIGINT, records BIGINT,
    attempts BIGINT, steps BIGINT, rejects BIGINT, other_cluster BIGINT, first_time TIMESTAMP,
    last_time TIMESTAMP, generated BOOLEAN
);
CREATE TABLE replay (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, quantile DOUBLE, cores DOUBLE, mem_bytes DOUBLE,
    gpus DOUBLE, abstained BOOLEAN
);
