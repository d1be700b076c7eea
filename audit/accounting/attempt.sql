-- attempt: every attempt that held something of the slice in the window: hours held, and cost, each held dollar in
-- exactly one bucket: lost (all of it, by the cause), not measured (charged through a resource whose use is not known),
-- recoverable, used, or kept (the rest: head-room). An exclusive attempt uses the whole node, if any use of it was
-- measured. Costs that cannot be known are NULL.
WITH held AS (
    SELECT cluster, job_id_raw, submit, bool_and(node IS NULL) AS is_unplaced, max(gres) AS gres,
        bool_and(whole_node) AS is_whole,
        total(cores * (to_s - from_s)) / 3600 AS core_hours, total(gpus * (to_s - from_s)) / 3600 AS gpu_hours,
        total(mem_bytes / 1073741824 * (to_s - from_s)) / 3600 AS mem_gib_hours
    FROM held_allocation GROUP BY cluster, job_id_raw, submit
), priced AS (
    SELECT h.*, o.* EXCLUDE (cluster, job_id_raw, submit), c.* EXCLUDE (cluster, job_id_raw, submit),
        u.* EXCLUDE (cluster, job_id_raw, submit, elapsed_s), c.core_usd + c.gpu_usd + c.mem_usd AS usd,
        CASE WHEN c.core_usd IS NOT NULL THEN coalesce(w.gpu_usd, 0) END AS gpu_recoverable_usd,
        CASE WHEN c.core_usd IS NOT NULL THEN coalesce(w.mem_usd, 0) END AS mem_recoverable_usd,
        CASE WHEN c.core_usd IS NOT NULL THEN coalesce(w.core_usd, 0) END AS core_recoverable_usd,
        CASE WHEN u.core_source IS NULL THEN 0 ELSE c.core_usd END + CASE WHEN u.gpu_source IS NULL THEN 0 ELSE c.gpu_usd END
            + CASE WHEN u.mem_source IS NULL THEN 0 ELSE c.mem_usd END AS seen_usd,
        h.is_whole AND coalesce(u.core_source, u.mem_source, u.gpu_source) IS NOT NULL AS uses_all,
        CASE WHEN c.core_usd IS NULL THEN NULL WHEN o.lost_cause IS NULL THEN 1 ELSE 0 END AS ends_well
    FROM held AS h
    JOIN outcome AS o USING (cluster, job_id_raw, submit)
    LEFT JOIN attempt_cost AS c USING (cluster, job_id_raw, submit)
    LEFT JOIN usage AS u USING (cluster, job_id_raw, submit)
    LEFT JOIN (SELECT * FROM won WHERE plan = 'high') AS w USING (cluster, job_id_raw, submit)
), covered AS (
    SELECT *, CASE WHEN uses_all THEN usd ELSE seen_usd END AS measured_usd,
        CASE WHEN uses_all THEN usd
            ELSE coalesce(gpu_used_usd, 0) + coalesce(mem_used_usd, 0) + coalesce(core_used_usd, 0) END AS all_used_usd
    FROM priced
), bucket AS (
    SELECT *, usd * (1 - ends_well) AS lost_usd, (usd - measured_usd) * ends_well AS not_measured_usd,
        ends_well * all_used_usd AS used_usd,
        gpu_recoverable_usd + mem_recoverable_usd + core_recoverable_usd AS recoverable_usd
    FROM covered
)
SELECT *, CASE WHEN usd IS NOT NULL
        THEN greatest(0, usd - lost_usd - not_measured_usd - used_usd - recoverable_usd) END AS kept_usd,
    CASE WHEN cores_used < held_cores THEN cores_used / held_cores WHEN cores_used >= held_cores THEN 1.0 END AS core_used_share,
    CASE WHEN gpus_used < held_gpus THEN gpus_used / held_gpus WHEN gpus_used >= held_gpus THEN 1.0 END AS gpu_used_share,
    CASE WHEN mem_used_bytes < held_mem_bytes THEN mem_used_bytes / held_mem_bytes WHEN mem_used_bytes >= held_mem_bytes THEN 1.0 END AS mem_used_share
FROM bucket
