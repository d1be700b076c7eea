-- attempt: every attempt that held something of the slice in the window: hours held, cost by the resource it was
-- charged through, how much of that was measured, and the cause where all of it is lost: it ended in failure, or
-- was cut by requeue or preemption (CANCELLED is an ordinary end). logical_job: array tasks are jobs of their
-- own, components of a heterogeneous job are one, attempts of a requeued job are one. Costs that cannot be known
-- are NULL.
WITH held AS (
    SELECT cluster, job_id_raw, submit, bool_and(node IS NULL) AS is_unplaced,
        sum(cores * (to_s - from_s)) / 3600 AS core_hours, sum(gpus * (to_s - from_s)) / 3600 AS gpu_hours,
        sum(mem_bytes / 1073741824 * (to_s - from_s)) / 3600 AS mem_gib_hours
    FROM held_allocation GROUP BY cluster, job_id_raw, submit
)
SELECT h.cluster, h.job_id_raw, h.submit, coalesce(j.het_job_id, j.job_id_raw) AS logical_job, j.partition, j.state,
    h.is_unplaced, h.core_hours, h.gpu_hours, h.mem_gib_hours, c.core_usd, c.gpu_usd, c.mem_usd,
    c.core_usd + c.gpu_usd + c.mem_usd AS usd,
    CASE WHEN u.core_source IS NULL THEN 0 ELSE c.core_usd END + CASE WHEN u.gpu_source IS NULL THEN 0 ELSE c.gpu_usd END
        + CASE WHEN u.mem_source IS NULL THEN 0 ELSE c.mem_usd END AS measured_usd,
    u.core_source, u.gpu_source, u.mem_source, u.core_reason, u.gpu_reason, u.mem_reason,
    least(1.0, u.cores_used / nullif(u.held_cores, 0)) AS core_used_share,
    least(1.0, u.gpus_used / nullif(u.held_gpus, 0)) AS gpu_used_share,
    least(1.0, u.mem_used_bytes / nullif(u.held_mem_bytes, 0)) AS mem_used_share,
    CASE WHEN j.state IN ('FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE', 'REQUEUED',
        'PREEMPTED') THEN j.state END AS lost_cause
FROM held AS h
JOIN job AS j USING (cluster, job_id_raw, submit)
LEFT JOIN attempt_cost AS c USING (cluster, job_id_raw, submit)
LEFT JOIN usage AS u USING (cluster, job_id_raw, submit)
