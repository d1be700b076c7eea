-- core_use: an attempt's mean cores: CPU seconds / elapsed (time it was suspended left out), by telemetry where
-- it watched 95 % of the attempt, no node left out, else by accounting, else by jobstats. 0 CPU seconds were not measured, nor was what a
-- resize closed, nor a running attempt, of which accounting knows finished steps only. cpu_is_bound: the attempt was
-- killed, and children of killed steps may be missing. cores_max: the most in an interval of a minute or more; only
-- telemetry knows it.
WITH summary AS (
    SELECT cluster, job_id_raw, submit, sum(node_cpu_s) AS cpu_s, count(node_cpu_s) AS nodes
    FROM gpu_summary WHERE gpu IS NULL GROUP BY cluster, job_id_raw, submit
), seen AS (
    SELECT j.cluster, j.job_id_raw, j.submit, j.state, j.end_time, t.cores_max,
        t.cpu_watched_share AS core_watched_share,
        coalesce(epoch(j.end_time) - epoch(j.start_time) - coalesce(j.suspended_s, 0), j.elapsed_s) AS run_s,
        CASE WHEN t.cpu_watched_share >= 0.95 AND t.is_whole THEN nullif(t.cpu_s, 0) END AS watched_cpu_s,
        CASE WHEN j.end_time IS NOT NULL AND NOT coalesce(s.was_resized, false)
            THEN coalesce(nullif(j.cpu_s, 0), s.cpu_s) END AS accounted_cpu_s,
        CASE WHEN c.nodes >= coalesce(j.node_count, 1) THEN nullif(c.cpu_s, 0) END AS summary_cpu_s
    FROM job AS j
    LEFT JOIN telemetry_use AS t USING (cluster, job_id_raw, submit)
    LEFT JOIN summary AS c USING (cluster, job_id_raw, submit)
    LEFT JOIN step_memory AS s USING (cluster, job_id_raw, submit)
    WHERE j.start_time IS NOT NULL
), chosen AS (
    SELECT *, CASE WHEN run_s <= 0 THEN NULL WHEN watched_cpu_s IS NOT NULL THEN 'cgroup'
        WHEN accounted_cpu_s IS NOT NULL THEN 'accounting' WHEN summary_cpu_s IS NOT NULL THEN 'jobstats' END AS core_source
    FROM seen
)
SELECT cluster, job_id_raw, submit, core_source, cores_max, core_watched_share,
    CASE WHEN core_source IS NOT NULL THEN coalesce(watched_cpu_s, accounted_cpu_s, summary_cpu_s) / run_s END AS cores_used,
    CASE WHEN core_source IS NOT NULL THEN core_source = 'accounting' AND state IN ('TIMEOUT', 'CANCELLED',
        'OUT_OF_MEMORY', 'NODE_FAIL', 'DEADLINE', 'PREEMPTED', 'REQUEUED') END AS cpu_is_bound,
    CASE WHEN core_source IS NOT NULL THEN NULL
        WHEN end_time IS NULL THEN 'still running when the accounting was read'
        WHEN run_s < 60 THEN 'too short to be sampled'
        ELSE 'no CPU time was recorded' END AS core_reason
FROM chosen
