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
    records       BIGINT NOT NULL,            -- attempts + steps + nodes + states + rejects + other_cluster
    attempts      BIGINT NOT NULL,
    steps         BIGINT NOT NULL,
    rejects       BIGINT NOT NULL,
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

CREATE TABLE reject_record (
    file_id INTEGER NOT NULL,
    line    BIGINT NOT NULL,                  -- the record's first line; for JSON its place in the list
    reason  VARCHAR NOT NULL,
    text    VARCHAR NOT NULL
);

-- What a collector or an exporter saw; filled where a window was measured.
CREATE TABLE gpu_map (
    cluster VARCHAR, job_id_raw VARCHAR, submit TIMESTAMP, node VARCHAR, uuid VARCHAR, gpu_index BIGINT
);
CREATE TABLE sample_job (
    cluster VARCHAR, node VARCHAR, job_id_raw VARCHAR, from_time TIMESTAMP, interval_s DOUBLE, samples BIGINT,
    cpu_s DOUBLE, anon_shmem_bytes_max BIGINT, file_bytes_max BIGINT, kernel_peak_bytes BIGINT, oom_kills BIGINT
);
CREATE TABLE sample_gpu (
    cluster VARCHAR, node VARCHAR, uuid VARCHAR, from_time TIMESTAMP, interval_s DOUBLE, samples BIGINT,
    gpu_util_mean DOUBLE, gpu_util_max DOUBLE, graphics_active_mean DOUBLE, gpu_mem_bytes_max BIGINT
);
