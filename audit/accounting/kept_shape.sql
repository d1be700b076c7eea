-- kept_shape: by plan, what an attempt would hold on each node where that is less of something than it held: advised
-- afterwards (plan high: hindsight, so nothing is killed) or before it started. One that is killed saves nothing, and
-- runs once more in that shape: it has all of its nodes, those too where it would hold what it held.
SELECT 'high' AS plan, held_no, kept_cores, kept_mem_bytes, kept_gpus, false AS by_memory, false AS by_gpus, false AS is_slowed
FROM recommended_shape WHERE kept_cores < cores OR kept_mem_bytes < mem_bytes OR kept_gpus < gpus
UNION ALL
SELECT a.plan, a.held_no, a.kept_cores, a.kept_mem_bytes, a.kept_gpus, coalesce(k.by_memory, false), coalesce(k.by_gpus, false),
    a.short_of_cores AND k.plan IS NULL
FROM advised_shape AS a LEFT JOIN killed AS k USING (plan, cluster, job_id_raw, submit)
UNION ALL
SELECT k.plan, h.held_no, h.cores, h.mem_bytes, h.gpus, k.by_memory, k.by_gpus, false
FROM killed AS k JOIN recommended_shape AS h USING (cluster, job_id_raw, submit)
WHERE NOT EXISTS (SELECT 1 FROM advised_shape AS a WHERE a.plan = k.plan AND a.held_no = h.held_no)
