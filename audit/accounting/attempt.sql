-- attempt: every attempt that held something of the slice in the window: hours held, and cost, each held dollar in
-- exactly one bucket: lost (all of it, by the cause), not measured (charged through a resource whose use is not known),
-- recoverable, used, or kept (the rest: head-room). Costs that cannot be known are NULL. asks_too_little: its peak
-- lies above what it held.
WITH held AS (
    SELECT cluster, job_id_raw, submit, bool_and(node IS NULL) AS is_unplaced, max(gres) AS gres,
        total(cores * (to_s - from_s)) / 3600 AS core_hours, total(gpus * (to_s - from_s)) / 3600 AS gpu_hours,
        total(mem_bytes / 1073741824 * (to_s - from_s)) / 3600 AS mem_gib_hours
    FROM held_allocation GROUP BY cluster, job_id_raw, submit
), priced AS (
    SELECT h.*, o.* EXCLUDE (cluster, job_id_raw, submit), c.* EXCLUDE (cluster, job_id_raw, submit),
        u.* EXCLUDE (cluster, job_id_raw, submit, elapsed_s), c.core_usd + c.gpu_usd + c.mem_usd AS usd,
        CASE WHEN u.core_source IS NULL THEN 0 ELSE c.core_usd END + CASE WHEN u.gpu_source IS NULL THEN 0 ELSE c.gpu_usd END
            + CASE WHEN u.mem_source IS NULL THEN 0 ELSE c.mem_usd END AS measured_usd,
        CASE WHEN c.core_usd IS NULL THEN NULL WHEN o.lost_cause IS NULL THEN 1 ELSE 0 END AS ends_well
    FROM held AS h
    JOIN outcome AS o USING (cluster, job_id_raw, submit)
    LEFT JOIN attempt_cost AS c USING (cluster, job_id_raw, submit)
    LEFT JOIN usage AS u USING (cluster, job_id_raw, submit)
), bucket AS (
    SELECT *, usd * (1 - ends_well) AS lost_usd, (usd - measured_usd) * ends_well AS not_measured_usd,
        ends_well * (coalesce(gpu_used_usd, 0) + coalesce(mem_used_usd, 0) + coalesce(core_used_usd, 0)) AS used_usd,
        gpu_recoverable_usd + mem_recoverable_usd + core_recoverable_usd AS recoverable_usd
    FROM priced
)
SELECT *, usd - lost_usd - not_measured_usd - used_usd - recoverable_usd AS kept_usd,
    least(1.0, cores_used / nullif(held_cores, 0)) AS core_used_share,
    least(1.0, gpus_used / nullif(held_gpus, 0)) AS gpu_used_share,
    least(1.0, mem_used_bytes / nullif(held_mem_bytes, 0)) AS mem_used_share,
    coalesce(mem_used_bytes > held_mem_bytes, false) OR coalesce(cores_max > held_cores, false) AS asks_too_little
FROM bucket
