-- share: x(r, j), what attempt j holds of each resource r of a node over the node's size of it, for a span in
-- which neither changes (epoch seconds). Exclusive attempts have share 1 of everything. Memory or GPUs that
-- accounting does not state have no share: they can bind nothing.
SELECT h.cluster, h.job_id_raw, h.submit, h.node,
    greatest(h.from_s, n.from_s) AS from_s, least(h.to_s, n.to_s) AS to_s, p.usd_per_hour,
    CASE WHEN n.gpus <= 0 THEN 0.0 WHEN h.whole_node THEN 1.0
        ELSE least(1.0, coalesce(h.gpus, 0) / n.gpus) END AS gpu_share,
    CASE WHEN h.whole_node THEN 1.0 ELSE least(1.0, coalesce(h.mem_bytes, 0) / n.mem_bytes) END AS mem_share,
    CASE WHEN h.whole_node THEN 1.0 ELSE least(1.0, coalesce(h.cores, 0) / n.cores) END AS core_share
FROM held_allocation AS h
JOIN node_span AS n
    ON n.cluster = h.cluster AND n.node = h.node AND h.from_s < n.to_s AND h.to_s > n.from_s
JOIN class_price AS p ON p.gres = n.gres AND p.cores = n.cores AND p.mem_bytes = n.mem_bytes
