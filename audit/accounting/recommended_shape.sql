-- recommended_shape: what an attempt would hold on each node (kept) had it asked for what hindsight advises: its nodes
-- stay, each resource is spread as held, cores and GPUs rounded up to whole ones, memory to policy.mem_step_gib, never
-- more than held. That is its need there: NULL where it keeps what it held, as exclusive attempts keep the whole node.
-- Beside it what was used, spread the same way and at most that (NULL: not measured), and whether telemetry watched it.
WITH need AS (
    SELECT h.*, CASE WHEN a.cores * h.core_part IS NOT NULL AND NOT h.whole_node
            THEN least(h.cores, in_steps(a.cores * h.core_part, 1) * h.run_share) END AS need_cores,
        CASE WHEN a.mem_bytes * h.mem_part IS NOT NULL AND NOT h.whole_node
            THEN least(h.mem_bytes, in_steps(a.mem_bytes * h.mem_part, p.mem_step_bytes)) END AS need_mem_bytes,
        CASE WHEN a.gpus * h.gpu_part IS NOT NULL AND NOT h.whole_node
            THEN least(h.gpus, in_steps(a.gpus * h.gpu_part, 1)) END AS need_gpus,
        u.cores_used * h.core_part * h.run_share AS seen_cores, u.mem_used_bytes * h.mem_part AS seen_mem_bytes,
        u.gpus_used * h.gpu_part AS seen_gpus, coalesce(u.core_source IN ('cgroup', 'jobstats'), false) AS cores_watched,
        coalesce(u.mem_source IN ('cgroup', 'jobstats'), false) AS mem_watched,
        coalesce(u.gpu_source IN ('telemetry', 'jobstats'), false) AS gpus_watched
    FROM held_allocation AS h
    CROSS JOIN policy AS p
    LEFT JOIN hindsight AS a USING (cluster, job_id_raw, submit)
    LEFT JOIN usage AS u USING (cluster, job_id_raw, submit)
), kept AS (
    SELECT *, coalesce(need_cores, cores) AS kept_cores, coalesce(need_mem_bytes, mem_bytes) AS kept_mem_bytes,
        coalesce(need_gpus, gpus) AS kept_gpus
    FROM need
)
SELECT * EXCLUDE (seen_cores, seen_mem_bytes, seen_gpus),
    CASE WHEN seen_cores IS NOT NULL THEN least(seen_cores, kept_cores) END AS used_cores,
    CASE WHEN seen_mem_bytes IS NOT NULL THEN least(seen_mem_bytes, kept_mem_bytes) END AS used_mem_bytes,
    CASE WHEN seen_gpus IS NOT NULL THEN least(seen_gpus, kept_gpus) END AS used_gpus
FROM kept
