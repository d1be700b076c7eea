-- cut: by plan, what an attempt would have given up on a node over one span of its allocation, as shares of the node: of
-- what is given up of the binding resource some can be sold again. A killed attempt gives up nothing, and runs once more
-- in the shape advised: again_hours, charged through what bound the node, in hours of the whole node.
WITH kept AS (
    SELECT k.plan, k.by_memory, k.by_gpus, k.is_slowed, k.by_memory OR k.by_gpus AS is_killed, s.*,
        least(s.gpu_share, coalesce(k.kept_gpus / s.node_gpus, 0)) AS gpu_kept,
        least(s.mem_share, coalesce(k.kept_mem_bytes / s.node_mem_bytes, 0)) AS mem_kept,
        least(s.core_share, coalesce(k.kept_cores / s.node_cores, 0)) AS core_kept
    FROM kept_shape AS k JOIN bound_share AS s USING (held_no)
)
SELECT plan, held_no, node_no, from_s, to_s, size_from_s, partition, usd_per_hour, by_memory, by_gpus, is_slowed,
    CASE WHEN is_killed THEN 0 ELSE gpu_share - gpu_kept END AS gpu,
    CASE WHEN is_killed THEN 0 ELSE mem_share - mem_kept END AS mem,
    CASE WHEN is_killed THEN 0 ELSE core_share - core_kept END AS core,
    CASE WHEN is_killed THEN gpu_kept * gpu_hours + mem_kept * mem_hours + core_kept * core_hours ELSE 0 END AS again_hours
FROM kept
