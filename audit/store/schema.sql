-- The canonical tables. Bytes are bytes, times are UTC, durations are seconds; NULL is "not measured"
-- or "not said", never 0. What is read stays as read (job_record, step_record): `job`, `step`,
-- `allocation` and `usage` are views over it, so the order in which files came cannot matter.

CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR);

CREATE TABLE evidence_file (
    file_id       INTEGER PRIMARY KEY,
    sha256        VARCHAR NOT NULL,
    name          VARCHAR NOT NULL,           -- path below evidence/
    kind          VARCHAR NOT NULL,           -- the reader that read it
    size_bytes    BIGINT NOT NULL,
    records       BIGINT NOT NULL,            -- attempts + steps + nodes + states + samples + rejects + other_cluster
    attempts      BIGINT NOT NULL,
    steps         BIGINT NOT NULL,
    rejects       BIGINT NOT NULL,
    samples       BIGINT NOT NULL,            -- rows of telemetry
    other_cluster BIGINT NOT NULL,            -- rows of another cluster, left out
    first_time    TIMESTAMP,
    last_time     TIMESTAMP,
    generated     BOOLEAN NOT NULL            -- made by `audit demo`, not by a cluster
);

-- One accounting record of a job: an attempt, or one span of an attempt that was resized.
CREATE TABLE job_record (
    file_id         INTEGER NOT NULL,
    line            BIGINT NOT NULL,
    cluster         VARCHAR NOT NULL,
    job_id_raw      VARCHAR NOT NULL,
    submit          TIMESTAMP NOT NULL,
    job_id          VARCHAR NOT NULL,         -- as Slurm prints it: 123, 123_4, 123+1, 123_[5-9]
    array_job_id    VARCHAR,
    array_task_id   BIGINT,
    array_tasks     BIGINT,                   -- pending tasks folded into this row; NULL elsewhere
    het_job_id      VARCHAR,
    het_offset      BIGINT,
    db_index        VARCHAR,                  -- unsigned 64-bit: text
    sluid           VARCHAR,
    original_sluid  VARCHAR,
    user_name       VARCHAR,
    account         VARCHAR,
    partition       VARCHAR,
    qos             VARCHAR,
    job_name        VARCHAR,
    state           VARCHAR NOT NULL,         -- one word of Slurm's; flags REQUEUED and RESIZING win
    exit_code       VARCHAR,
    derived_exit_code VARCHAR,
    eligible        TIMESTAMP,
    start_time      TIMESTAMP,                -- NULL: never started
    end_time        TIMESTAMP,                -- NULL: not ended when the dump was made
    elapsed_s       DOUBLE,
    suspended_s     DOUBLE,
    time_limit_s    DOUBLE,                   -- NULL: unlimited, the partition's, or not said
    node_count      BIGINT,
    node_list       VARCHAR,                  -- as Slurm prints it; `host_list` holds its nodes
    exclusive       BOOLEAN,
    req_cores       DOUBLE,
    req_mem_bytes   BIGINT,                   -- total over nodes
    req_gpus        DOUBLE,
    req_gres        VARCHAR,
    alloc_cores     DOUBLE,
    alloc_mem_bytes BIGINT,
    alloc_gpus      DOUBLE,                   -- whole-card equivalents, MIG by share; shards not in it
    alloc_shards    DOUBLE,
    alloc_gres      VARCHAR,                  -- normalised: gpu:a100=2,gpu:a100_3g.20gb=1,shard=4
    cpu_s           DOUBLE,                   -- TotalCPU
    tasks           BIGINT,                   -- only where the dump gives usage on the job's own row
    max_rss_bytes   BIGINT,
    rss_bytes       BIGINT,
    superseded      BOOLEAN NOT NULL DEFAULT false   -- another file holds a later state of this record
);

-- One accounting record of a step. `submit` is its attempt's; NULL until the attempt is known.
CREATE TABLE step_record (
    file_id         INTEGER NOT NULL,
    line            BIGINT NOT NULL,
    cluster         VARCHAR NOT NULL,
    job_id_raw      VARCHAR NOT NULL,
    submit          TIMESTAMP,
    step_id         VARCHAR NOT NULL,         -- batch, extern, interactive, 0, 1, …
    db_index        VARCHAR,
    state           VARCHAR NOT NULL,
    exit_code       VARCHAR,
    start_time      TIMESTAMP,
    end_time        TIMESTAMP,
    elapsed_s       DOUBLE,
    node_count      BIGINT,
    node_list       VARCHAR,
    tasks           BIGINT,
    alloc_cores     DOUBLE,
    alloc_mem_bytes BIGINT,
    max_rss_bytes   BIGINT,                   -- the largest task's peak; NULL where nothing was sampled
    ave_rss_bytes   BIGINT,                   -- the mean of the tasks' peaks
    rss_bytes       BIGINT,                   -- the sum of the tasks' peaks (TRESUsageInTot)
    cpu_s           DOUBLE,
    read_bytes      BIGINT,
    write_bytes     BIGINT,
    gpu_util        DOUBLE,                   -- TRESUsageInAve gres/gpuutil, percent
    gpu_mem_bytes   BIGINT,                   -- TRESUsageInMax gres/gpumem
    superseded      BOOLEAN NOT NULL DEFAULT false
);

-- Which attempt the records of a resized one belong to, with what the whole attempt came to; made by settling.
CREATE TABLE resized (
    cluster VARCHAR, job_id_raw VARCHAR, record_submit TIMESTAMP, submit TIMESTAMP, span_from TIMESTAMP,
    span_mem_bytes BIGINT,
    state VARCHAR, exit_code VARCHAR, derived_exit_code VARCHAR, end_time TIMESTAMP,
    elapsed_s DOUBLE, suspended_s DOUBLE, cpu_s DOUBLE
);

-- Which nodes a node list names.
CREATE TABLE host_list (node_list VARCHAR, node VARCHAR, UNIQUE (node_list, node));

-- A node's size as Slurm can allocate it, as one inventory showed it.
CREATE TABLE node_record (
    file_id          INTEGER NOT NULL,
    cluster          VARCHAR NOT NULL,
    node             VARCHAR NOT NULL,
    seen             TIMESTAMP,               -- when the inventory was taken, as far as it tells
    cores            DOUBLE,
    vcpus            DOUBLE,                  -- hardware threads of the whole node; NULL: not told
    mem_bytes        BIGINT,
    gpus             DOUBLE,
    gres             VARCHAR,                 -- normalised: gpu:a100=4,shard=16
    gpu_type         VARCHAR,
    shards           DOUBLE,
    threads_per_core BIGINT,
    partitions       VARCHAR                  -- comma-separated, sorted
);

-- A node's state over a span, where it was not simply up.
CREATE TABLE node_state_record (
    file_id    INTEGER NOT NULL,
    cluster    VARCHAR NOT NULL,
    node       VARCHAR NOT NULL,
    from_time  TIMESTAMP NOT NULL,
    to_time    TIMESTAMP,                     -- NULL: still so when the dump was made
    state      VARCHAR NOT NULL,
    reason     VARCHAR
);

-- Per-GPU summaries that accounting carries (jobstats in AdminComment).
CREATE TABLE gpu_record (
    file_id         INTEGER NOT NULL,
    cluster         VARCHAR NOT NULL,
    job_id_raw      VARCHAR NOT NULL,
    submit          TIMESTAMP NOT NULL,
    node            VARCHAR NOT NULL,
    gpu             VARCHAR,                  -- index or UUID as the source names it; NULL for the node's row
    gpu_util        DOUBLE,                   -- mean, percent; NULL where not measured
    gpu_mem_bytes   BIGINT,                   -- peak
    gpu_total_bytes BIGINT,
    node_mem_bytes  BIGINT,                   -- peak memory of the job on the node; only in the node's row
    node_cpu_s      DOUBLE                    -- only in the node's row
);

-- What Slurm's own roll-up says of a span (sreport cluster utilization): seconds x units; of mem, MiB-seconds.
CREATE TABLE sreport_record (
    file_id        INTEGER NOT NULL,
    cluster        VARCHAR NOT NULL,
    tres           VARCHAR NOT NULL,          -- cpu, mem, gres/gpu, gres/gpu:a100
    from_time      TIMESTAMP NOT NULL,
    to_time        TIMESTAMP NOT NULL,
    allocated_s    BIGINT NOT NULL,
    down_s         BIGINT NOT NULL,
    planned_down_s BIGINT,
    idle_s         BIGINT,
    reserved_s     BIGINT,                    -- Planned; Reserved of older Slurm
    reported_s     BIGINT
);

CREATE TABLE reject_record (
    file_id INTEGER NOT NULL,
    line    BIGINT NOT NULL,                  -- the record's first line; for JSON its place in the list
    reason  VARCHAR NOT NULL,
    text    VARCHAR NOT NULL
);

-- What collectors and exporters saw, as audit/evidence/telemetry.py names it. A row is about a span of interval_s from
-- from_time, or about at_time; interval_no tells which interval of its file it came in. Settling moves times by
-- shift_s, the sum of what it moved them by, where the node's clock had been stepped.
CREATE TABLE sample_interval (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, mono_s DOUBLE, samples BIGINT, missed BIGINT, late_max_s DOUBLE,
    own_cpu_s DOUBLE, own_rss_bytes BIGINT, own_written_bytes BIGINT, jobs BIGINT, unmapped BIGINT, busy BIGINT,
    boot_id VARCHAR, role VARCHAR, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE sample_job (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, job VARCHAR, since_time TIMESTAMP, samples BIGINT, cpu_s DOUBLE,
    cpu_source VARCHAR, cores_max DOUBLE, anon_shmem_bytes_min BIGINT, anon_shmem_bytes_mean BIGINT,
    anon_shmem_bytes_max BIGINT, file_bytes_max BIGINT, kernel_peak_bytes BIGINT, limit_bytes BIGINT, swap_bytes_max
    BIGINT, oom_kills BIGINT, throttled_s DOUBLE, read_bytes BIGINT, write_bytes BIGINT, processes_max BIGINT,
    shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE sample_gpu (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, uuid VARCHAR, minor BIGINT, "index" BIGINT, samples BIGINT,
    util_mean DOUBLE, util_min DOUBLE, util_max DOUBLE, util_samples BIGINT, mem_bytes_min BIGINT, mem_bytes_mean
    BIGINT, mem_bytes_max BIGINT, mem_total_bytes BIGINT, mem_reserved_bytes BIGINT, power_w_mean DOUBLE,
    power_w_max DOUBLE, energy_j DOUBLE, sm_clock_mhz_mean DOUBLE, temperature_c_max DOUBLE, throttle_bits BIGINT,
    throttled_s DOUBLE, ecc_uncorrected BIGINT, ecc_corrected BIGINT, mig BIGINT, processes_max BIGINT,
    sm_active_mean DOUBLE, graphics_active_mean DOUBLE, tensor_active_mean DOUBLE, dram_active_mean DOUBLE,
    pcie_rx_bytes BIGINT, pcie_tx_bytes BIGINT, nvlink_rx_bytes BIGINT, nvlink_tx_bytes BIGINT, holder VARCHAR,
    holder_source VARCHAR, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE sample_gpu_job (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, uuid VARCHAR, job VARCHAR, mem_bytes_max BIGINT, processes_max
    BIGINT, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE sample_mig (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, uuid VARCHAR, mig_uuid VARCHAR, gi BIGINT, ci BIGINT, slices
    BIGINT, memory_slices BIGINT, samples BIGINT, mem_bytes_max BIGINT, mem_total_bytes BIGINT, processes_max
    BIGINT, holder VARCHAR, sm_active_mean DOUBLE, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE sample_node (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, samples BIGINT, cores BIGINT, cpu_busy_mean DOUBLE, cpu_busy_max
    DOUBLE, iowait_mean DOUBLE, load1_max DOUBLE, mem_total_bytes BIGINT, mem_available_bytes_min BIGINT,
    swap_used_bytes_max BIGINT, psi_cpu_some_s DOUBLE, psi_mem_some_s DOUBLE, psi_mem_full_s DOUBLE, psi_io_some_s
    DOUBLE, psi_io_full_s DOUBLE, net_rx_bytes BIGINT, net_tx_bytes BIGINT, ib_rx_bytes BIGINT, ib_tx_bytes BIGINT,
    disk_read_bytes BIGINT, disk_write_bytes BIGINT, disk_busy_s DOUBLE, nfs_read_bytes BIGINT, nfs_write_bytes
    BIGINT, lustre_read_bytes BIGINT, lustre_write_bytes BIGINT, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE collector_event (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, at_time
    TIMESTAMP NOT NULL, kind VARCHAR, text VARCHAR, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE collector_gap (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, from_time
    TIMESTAMP NOT NULL, interval_s DOUBLE NOT NULL, reason VARCHAR, shift_s DOUBLE NOT NULL DEFAULT 0
);
CREATE TABLE allocation_seen (
    file_id INTEGER NOT NULL, interval_no INTEGER, cluster VARCHAR NOT NULL, node VARCHAR NOT NULL, at_time
    TIMESTAMP NOT NULL, job_id VARCHAR, array_job_id VARCHAR, array_task_id VARCHAR, het_job_id VARCHAR, start_time
    TIMESTAMP, state VARCHAR, cpu_ids VARCHAR, mem_bytes BIGINT, gres VARCHAR, gpu_index VARCHAR, gpu_count BIGINT,
    sluid VARCHAR, shift_s DOUBLE NOT NULL DEFAULT 0
);
