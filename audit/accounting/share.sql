-- share: x(r, j), what attempt j holds of each resource r of a node over the node's size of it, for a span in
-- which neither changes (epoch seconds; size_from_s: since when the node has that size); beside it the same of what was
-- used (NULL: not measured). Exclusive attempts have share 1 of everything. Memory or GPUs that accounting does not state
-- have no share: they can bind nothing.
WITH placed AS (
    SELECT s.*, n.node_no, n.from_s AS size_from_s, n.cores AS node_cores, n.mem_bytes AS node_mem_bytes,
        nullif(n.gpus, 0) AS node_gpus, p.usd_per_hour, greatest(s.from_s, n.from_s) AS first_s,
        least(s.to_s, n.to_s) AS last_s, n.gpus > 0 AND s.whole_node AS all_gpus
    FROM recommended_shape AS s
    JOIN node_span AS n
        ON n.cluster = s.cluster AND n.node = s.node AND s.from_s < n.to_s AND s.to_s > n.from_s
    JOIN class_price AS p ON p.gres = n.gres AND p.cores = n.cores AND p.mem_bytes = n.mem_bytes
)
SELECT held_no, cluster, job_id_raw, submit, node, node_no, partition, first_s AS from_s, last_s AS to_s, size_from_s,
    usd_per_hour, node_cores, node_mem_bytes, node_gpus,
    CASE WHEN all_gpus THEN 1.0 ELSE least(1.0, coalesce(gpus / node_gpus, 0)) END AS gpu_share,
    CASE WHEN whole_node THEN 1.0 ELSE least(1.0, coalesce(mem_bytes / node_mem_bytes, 0)) END AS mem_share,
    CASE WHEN whole_node THEN 1.0 ELSE least(1.0, coalesce(cores / node_cores, 0)) END AS core_share,
    CASE WHEN used_gpus IS NULL THEN NULL WHEN all_gpus THEN 1.0 ELSE least(1.0, used_gpus / node_gpus) END AS gpu_used,
    CASE WHEN used_mem_bytes IS NULL THEN NULL WHEN whole_node THEN 1.0
        ELSE least(1.0, used_mem_bytes / node_mem_bytes) END AS mem_used,
    CASE WHEN used_cores IS NULL THEN NULL WHEN whole_node THEN 1.0 ELSE least(1.0, used_cores / node_cores) END AS core_used
FROM placed
