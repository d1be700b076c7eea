-- case: what a model may learn of each attempt: what it asked for (what it held), and what it needed of each target
-- (NULL: not measured, or cut too early to tell). An attempt that ran out of memory or time needed at least what it held;
-- one that failed, or was cut by a node or the scheduler, tells nothing. One that never started is there too: it waited,
-- and nobody knew at the time that it would not start. Times are epoch seconds.
SELECT j.cluster, j.job_id_raw, j.submit, epoch(j.submit) AS submit_s, epoch(j.start_time) AS start_s,
    CASE WHEN j.end_time IS NULL THEN 'infinity'::DOUBLE ELSE epoch(j.end_time) END AS end_s, coalesce(j.elapsed_s, 0) AS run_s,
    coalesce(j.user_name, '') AS user_name, coalesce(j.account, '') || '/' || family(j.job_name) AS name,
    coalesce(j.partition, '') AS partition, coalesce(j.node_count, 1) AS nodes,
    coalesce(u.held_cores, j.req_cores) AS asked_cores, coalesce(u.held_mem_bytes, j.req_mem_bytes) AS asked_memory,
    coalesce(u.held_gpus, j.req_gpus) AS asked_gpus, j.time_limit_s AS asked_walltime,
    100.0 AS asked_gpu_activity, NULL AS asked_vram,
    CASE WHEN ended.out_of_memory THEN CASE WHEN u.held_mem_bytes > 0 THEN greatest(coalesce(u.mem_used_bytes, 0), u.held_mem_bytes) END
        WHEN ended.tells THEN u.mem_used_bytes END AS memory, ended.out_of_memory AS memory_is_bound,
    CASE WHEN j.state = 'TIMEOUT' THEN greatest(u.elapsed_s, coalesce(j.time_limit_s, 0))
        WHEN j.state = 'COMPLETED' THEN nullif(u.elapsed_s, 0) END AS walltime,
    j.state = 'TIMEOUT' AS walltime_is_bound,
    CASE WHEN ended.tells THEN u.cores_max END AS cores, j.state = 'TIMEOUT' AS cores_is_bound,
    CASE WHEN ended.tells AND NOT coalesce(u.cpu_is_bound, false) THEN u.cores_used END AS mean_cores,
    CASE WHEN ended.tells AND u.held_gpus > 0 AND u.gpu_source IS NOT NULL THEN u.gpus_used END AS gpus,
    j.state = 'TIMEOUT' AS gpus_is_bound,
    CASE WHEN ended.tells AND u.held_gpus > 0 THEN u.vram_peak_bytes END AS vram, j.state = 'TIMEOUT' AS vram_is_bound,
    CASE WHEN ended.tells AND u.held_gpus > 0 THEN u.gpu_util END AS gpu_activity, false AS gpu_activity_is_bound
FROM job AS j
LEFT JOIN usage AS u USING (cluster, job_id_raw, submit)
LEFT JOIN outcome AS o USING (cluster, job_id_raw, submit)
LEFT JOIN step_memory AS s USING (cluster, job_id_raw, submit)
CROSS JOIN LATERAL (
    SELECT j.state = 'OUT_OF_MEMORY' OR coalesce(s.ran_out_of_memory, false) AS out_of_memory,
        u.elapsed_s > 0 AND j.end_time IS NOT NULL AND (o.lost_cause IS NULL OR o.lost_cause = 'TIMEOUT') AS tells
) AS ended
