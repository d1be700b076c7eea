-- recommended_shape: what an attempt would hold on each node had it asked for what is advised (relation `advised`;
-- NULL there keeps what was held): its nodes stay, each resource is spread as held, cores and GPUs rounded up to whole
-- ones, memory to policy.mem_step_gib, never more than held. Exclusive attempts keep the whole node. Beside it what
-- was used, spread the same way and at most that (NULL: not measured).
WITH need AS (
    SELECT h.*, CASE WHEN a.cores * h.core_part IS NOT NULL
            THEN least(h.cores, ceil(a.cores * h.core_part - 1e-9) * h.run_share) END AS cut_cores,
        CASE WHEN a.mem_bytes * h.mem_part IS NOT NULL
            THEN least(h.mem_bytes, ceil(a.mem_bytes * h.mem_part / p.mem_step_bytes - 1e-9) * p.mem_step_bytes) END
            AS cut_mem_bytes,
        CASE WHEN a.gpus * h.gpu_part IS NOT NULL THEN least(h.gpus, ceil(a.gpus * h.gpu_part - 1e-9)) END AS cut_gpus,
        u.cores_used * h.core_part * h.run_share AS seen_cores, u.mem_used_bytes * h.mem_part AS seen_mem_bytes,
        u.gpus_used * h.gpu_part AS seen_gpus
    FROM held_allocation AS h
    CROSS JOIN policy AS p
    LEFT JOIN advised AS a USING (cluster, job_id_raw, submit)
    LEFT JOIN usage AS u USING (cluster, job_id_raw, submit)
), kept AS (
    SELECT *, CASE WHEN cut_cores IS NULL OR whole_node THEN cores ELSE cut_cores END AS kept_cores,
        CASE WHEN cut_mem_bytes IS NULL OR whole_node THEN mem_bytes ELSE cut_mem_bytes END AS kept_mem_bytes,
        CASE WHEN cut_gpus IS NULL OR whole_node THEN gpus ELSE cut_gpus END AS kept_gpus
    FROM need
)
SELECT cluster, job_id_raw, submit, node, gres, partition, whole_node, from_s, to_s, cores, mem_bytes, gpus,
    kept_cores, kept_mem_bytes, kept_gpus,
    CASE WHEN seen_cores IS NOT NULL THEN least(seen_cores, kept_cores) END AS used_cores,
    CASE WHEN seen_mem_bytes IS NOT NULL THEN least(seen_mem_bytes, kept_mem_bytes) END AS used_mem_bytes,
    CASE WHEN seen_gpus IS NOT NULL THEN least(seen_gpus, kept_gpus) END AS used_gpus
FROM kept
