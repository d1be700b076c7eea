-- usage: an attempt's measured use, each measure with its source, or NULL with its reason. is_censored: ended by
-- OOM (of the attempt, or of a step it went on without) or a limit, or still running: a bound on need, never an
-- observation of it. asks_too_little: its peak lies more than a
-- thousandth above what it held (an upper bound of a peak does not tell). walltime_s: elapsed time of
-- attempts that completed inside the window; of all others it is censored, NULL.
SELECT j.cluster, j.job_id_raw, j.submit, j.elapsed_s, h.held_cores, h.held_mem_bytes, h.held_gpus,
    coalesce(m.mem_used_bytes > h.held_mem_bytes * 1.001 AND m.mem_source <> 'rss_bound', false) OR coalesce(c.cores_max > h.held_cores, false) AS asks_too_little,
    m.mem_used_bytes, m.mem_source, m.mem_reason, m.max_task_bytes, m.is_cache_inflated, m.watched_share,
    m.mem_accounting_bytes, m.kernel_peak_bytes, m.oom_kills,
    c.cores_used, c.core_source, c.core_reason, c.cores_max, c.cpu_is_bound,
    c.core_watched_share, i.io_read_bytes, i.io_write_bytes, i.io_source,
    g.gpus_used, g.gpu_source, CASE WHEN h.held_gpus > 0 THEN g.gpu_reason END AS gpu_reason, g.gpu_util,
    g.vram_peak_bytes, g.gpu_throttled_s, g.gpu_watched_share,
    j.end_time IS NULL OR j.state IN ('OUT_OF_MEMORY', 'TIMEOUT', 'DEADLINE', 'NODE_FAIL', 'PREEMPTED', 'REQUEUED')
        OR coalesce(j.derived_exit_code LIKE '%:125', false) OR coalesce(s.ran_out_of_memory, false) OR coalesce(m.oom_kills > 0, false) AS is_censored,
    CASE WHEN j.state = 'COMPLETED' AND NOT coalesce(s.ran_out_of_memory, false) AND j.end_time > w.from_time AND j.end_time <= w.to_time THEN j.elapsed_s END
        AS walltime_s
FROM job AS j
JOIN span_held AS h USING (cluster, job_id_raw, submit)
JOIN memory_use AS m USING (cluster, job_id_raw, submit)
JOIN core_use AS c USING (cluster, job_id_raw, submit)
LEFT JOIN io_use AS i USING (cluster, job_id_raw, submit)
LEFT JOIN gpu_use AS g USING (cluster, job_id_raw, submit)
LEFT JOIN step_memory AS s USING (cluster, job_id_raw, submit)
CROSS JOIN window_bounds AS w
