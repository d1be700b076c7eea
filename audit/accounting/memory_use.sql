-- memory_use: an attempt's peak memory: telemetry where it watched 95 % of the attempt, no node left out, else what jobstats saw
-- on every node, else its steps in accounting (its own row where that is
-- all there is; rss_bound: an upper bound), never below what telemetry saw. Not
-- measured where steps without a peak ran for more than 5 % of its time. mem_accounting_bytes: what accounting alone says.
WITH summary AS (
    SELECT cluster, job_id_raw, submit, sum(node_mem_bytes) AS mem_bytes, count(node_mem_bytes) AS nodes
    FROM gpu_summary WHERE gpu IS NULL GROUP BY cluster, job_id_raw, submit
), seen AS (
    SELECT j.cluster, j.job_id_raw, j.submit, j.end_time, t.is_cache_inflated, t.kernel_peak_bytes, t.oom_kills, s.is_bound, s.max_task_bytes,
        t.watched_share, t.is_whole, t.mem_bytes AS watched_bytes,
        CASE WHEN c.nodes >= coalesce(j.node_count, 1) THEN nullif(c.mem_bytes, 0) END AS summary_bytes,
        s.mem_bytes AS any_step_bytes, s.job_id_raw IS NOT NULL AS has_steps,
        CASE WHEN s.unmeasured_s <= 0.05 * j.elapsed_s THEN s.mem_bytes
            WHEN s.job_id_raw IS NULL THEN coalesce(j.rss_bytes, j.max_rss_bytes
                * coalesce(j.tasks, CASE WHEN j.node_count <= 1 THEN 1 END)) END AS step_bytes
    FROM job AS j
    LEFT JOIN telemetry_use AS t USING (cluster, job_id_raw, submit)
    LEFT JOIN summary AS c USING (cluster, job_id_raw, submit)
    LEFT JOIN step_memory AS s USING (cluster, job_id_raw, submit)
    WHERE j.start_time IS NOT NULL
), chosen AS (
    SELECT *, CASE WHEN watched_share >= 0.95 AND is_whole AND watched_bytes IS NOT NULL THEN 'cgroup'
        WHEN summary_bytes IS NOT NULL THEN 'jobstats'
        WHEN step_bytes IS NOT NULL THEN CASE WHEN coalesce(is_bound, true) THEN 'rss_bound' ELSE 'rss_sum' END END AS mem_source
    FROM seen
)
SELECT cluster, job_id_raw, submit, mem_source, watched_share, max_task_bytes, is_cache_inflated, kernel_peak_bytes,
    oom_kills, step_bytes AS mem_accounting_bytes,
    CASE mem_source WHEN 'cgroup' THEN watched_bytes
        WHEN 'jobstats' THEN greatest(summary_bytes, watched_bytes)
        WHEN 'rss_sum' THEN greatest(step_bytes, watched_bytes)
        WHEN 'rss_bound' THEN greatest(step_bytes, watched_bytes) END AS mem_used_bytes,
    CASE WHEN mem_source IS NOT NULL THEN NULL
        WHEN end_time IS NULL THEN 'still running when the accounting was read'
        WHEN any_step_bytes IS NOT NULL THEN 'steps without a peak ran for more than 5 % of its time'
        WHEN has_steps THEN 'no step has a peak: too short to be sampled, or not gathered'
        WHEN watched_bytes IS NOT NULL THEN 'watched for less than 95 % of its time'
        ELSE 'the accounting holds no step of it' END AS mem_reason
FROM chosen
