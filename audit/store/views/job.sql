-- job: one attempt of one job component. Records of one attempt that was resized are one row: submit and
-- start of the first, state and end of the last, elapsed time summed; what it asked is what it asked first.
CREATE OR REPLACE TEMP VIEW job AS
SELECT
    r.cluster, r.job_id_raw, r.submit, r.job_id, r.array_job_id, r.array_task_id, r.array_tasks,
    r.het_job_id, r.het_offset, r.sluid, r.user_name, r.account, r.partition, r.qos, r.job_name,
    coalesce(z.state, r.state) AS state,
    coalesce(z.exit_code, r.exit_code) AS exit_code,
    coalesce(z.derived_exit_code, r.derived_exit_code) AS derived_exit_code,
    r.eligible, r.start_time,
    CASE WHEN z.state IS NULL THEN r.end_time ELSE z.end_time END AS end_time,
    coalesce(z.elapsed_s, r.elapsed_s) AS elapsed_s,
    coalesce(z.suspended_s, r.suspended_s) AS suspended_s,
    r.time_limit_s, r.node_count, r.node_list, r.exclusive, r.req_cores, r.req_mem_bytes, r.req_gpus,
    r.alloc_cores, r.alloc_mem_bytes, r.alloc_gpus, r.alloc_shards, r.alloc_gres,
    coalesce(z.cpu_s, r.cpu_s) AS cpu_s, r.tasks, r.max_rss_bytes, r.rss_bytes
FROM job_record AS r
LEFT JOIN resized AS z
    ON z.cluster = r.cluster AND z.job_id_raw = r.job_id_raw AND z.submit = r.submit
    AND z.record_submit = z.submit
LEFT JOIN resized AS part
    ON part.cluster = r.cluster AND part.job_id_raw = r.job_id_raw AND part.record_submit = r.submit
    AND part.submit <> part.record_submit
WHERE NOT r.superseded AND part.submit IS NULL;
