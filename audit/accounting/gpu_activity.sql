-- gpu_activity: what telemetry saw of each GPU an attempt held, found by UUID (inside its cgroup every attempt
-- counts its cards from 0). A sample belongs to the attempt that held the card at the middle of its interval.
-- driver_bytes: what the driver itself takes, the least seen on that card while nobody held it; 0 if never seen.
WITH mark AS (
    SELECT g.cluster, g.node, g.uuid, epoch(j.start_time) AS at_s, 0 AS is_sample, j.job_id_raw, j.submit,
        coalesce(epoch(j.end_time), 1e18) AS end_s, NULL AS interval_s, NULL AS util, NULL AS util_max,
        NULL AS graphics, NULL AS mem_bytes
    FROM gpu_map AS g JOIN job AS j USING (cluster, job_id_raw, submit)
    WHERE j.start_time IS NOT NULL
    UNION ALL
    SELECT cluster, node, uuid, epoch(from_time) + interval_s / 2, 1, NULL, NULL, NULL, interval_s, gpu_util_mean,
        gpu_util_max, graphics_active_mean, gpu_mem_bytes_max
    FROM sample_gpu
), carried AS (
    SELECT cluster, node, uuid, at_s, is_sample, interval_s, util, util_max, graphics, mem_bytes,
        last_value(job_id_raw IGNORE NULLS) OVER held_by AS job_id_raw,
        last_value(submit IGNORE NULLS) OVER held_by AS submit,
        last_value(end_s IGNORE NULLS) OVER held_by AS end_s
    FROM mark
    WINDOW held_by AS (PARTITION BY cluster, node, uuid ORDER BY at_s, is_sample ROWS UNBOUNDED PRECEDING)
), driver AS (
    SELECT cluster, node, uuid, min(mem_bytes) AS driver_bytes FROM carried
    WHERE is_sample = 1 AND (end_s IS NULL OR at_s >= end_s) GROUP BY cluster, node, uuid
)
SELECT cluster, job_id_raw, submit, node, uuid AS gpu, sum(interval_s) AS watched_s,
    sum(util * interval_s) / sum(CASE WHEN util IS NOT NULL THEN interval_s END) AS gpu_util,
    greatest(max(util), max(util_max), max(graphics)) AS most_active,
    max(mem_bytes) AS mem_bytes, coalesce(max(driver_bytes), 0) AS driver_bytes,
    bool_or(coalesce(util >= 50 AND graphics = 0, false)) AS is_contradicted
FROM carried LEFT JOIN driver USING (cluster, node, uuid)
WHERE is_sample = 1 AND at_s < end_s
GROUP BY cluster, job_id_raw, submit, node, uuid
