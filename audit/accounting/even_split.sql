-- even_split: what a span holds on each of its nodes where accounting does not say: GPUs of a type evenly
-- (and shards) over the nodes that have it, all else evenly over all nodes, as fractions; beside it what the node has.
-- GPUs are whole-card equivalents; shards count by their part of a card. Nodes not named: one row, node NULL.
WITH size AS (
    SELECT cluster, node, max(cores) AS cores, max(mem_bytes) AS mem_bytes, max(gpus) AS gpus,
        max(gpus / nullif(shards, 0)) AS gpus_per_shard
    FROM node GROUP BY cluster, node
), host AS (
    SELECT node_list, node, count(*) OVER (PARTITION BY node_list) AS nodes FROM host_list
), numbered AS (
    SELECT *, row_number() OVER () AS span_no FROM span
)
SELECT s.span_no, s.cluster, s.job_id_raw, s.submit, h.node, s.from_time, s.to_time, s.gres, s.exclusive,
    s.partition, s.cores / coalesce(h.nodes, 1) AS cores, s.mem_bytes / coalesce(h.nodes, 1) AS mem_bytes,
    CASE WHEN s.shards > 0 AND z.gpus_per_shard IS NOT NULL
        THEN coalesce(s.gpus, 0) * coalesce(g.part, 1.0 / coalesce(h.nodes, 1))
            + s.shards / count(z.gpus_per_shard) OVER (PARTITION BY s.span_no) * z.gpus_per_shard
        ELSE s.gpus * coalesce(g.part, 1.0 / coalesce(h.nodes, 1)) END AS gpus,
    z.cores AS node_cores, z.mem_bytes AS node_mem_bytes, nullif(z.gpus, 0) AS node_gpus
FROM numbered AS s
LEFT JOIN host AS h USING (node_list)
LEFT JOIN size AS z ON z.cluster = s.cluster AND z.node = h.node
LEFT JOIN gpu_split AS g
    ON g.cluster = s.cluster AND g.node_list = s.node_list AND g.gres = s.gres AND g.node = h.node
