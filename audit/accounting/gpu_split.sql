-- gpu_split: which part of a multi-node span's GPUs lies on which node: the GPUs of a type evenly over the
-- nodes that have it; over all nodes where no node is known to have it. One row per node list, GRES and node.
WITH listed AS (
    SELECT DISTINCT cluster, node_list, gres FROM span
    WHERE gpus > 0 AND gres IS NOT NULL
        AND node_list IN (SELECT node_list FROM host_list GROUP BY node_list HAVING count(*) > 1)
), item AS (
    SELECT cluster, node_list, gres, unnest(string_split(gres, ',')) AS text FROM listed
), typed AS (
    SELECT cluster, node_list, gres, regexp_extract(text, '^(gpu[^=]*=)', 1) AS type,
        CAST(regexp_extract(text, '=([0-9.]+)$', 1) AS DOUBLE) AS gpus
    FROM item WHERE regexp_matches(text, '^gpu[^=]*=[0-9.]+$')
), offer AS (
    SELECT cluster, node, max(',' || gres) AS gres, max(gpus) AS gpus FROM node GROUP BY cluster, node
), placed AS (
    SELECT t.cluster, t.node_list, t.gres, t.gpus, h.node, t.type,
        CASE WHEN strpos(o.gres, ',' || t.type) > 0 OR (t.type = 'gpu=' AND o.gpus > 0) THEN 1 ELSE 0 END AS has_type
    FROM typed AS t
    JOIN host_list AS h USING (node_list)
    LEFT JOIN offer AS o ON o.cluster = t.cluster AND o.node = h.node
), weighed AS (
    SELECT cluster, node_list, gres, node, gpus, has_type,
        sum(has_type) OVER each_type AS having_it, count(*) OVER each_type AS nodes
    FROM placed WINDOW each_type AS (PARTITION BY cluster, node_list, gres, type)
), summed AS (
    SELECT cluster, node_list, gres, node,
        sum(gpus * CASE WHEN having_it > 0 THEN has_type / having_it ELSE 1.0 / nodes END) AS gpus
    FROM weighed GROUP BY cluster, node_list, gres, node
)
SELECT cluster, node_list, gres, node, gpus / sum(gpus) OVER (PARTITION BY cluster, node_list, gres) AS part
FROM summed
