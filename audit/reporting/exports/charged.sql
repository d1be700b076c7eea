-- charged: the node-hours that an attempt was charged for, with the class and the price of its nodes and whether that
-- is a list price; class and price are NULL where it held nodes of several.
WITH sized AS (
    SELECT n.cluster, n.node, min(n.node_class) AS node_class, min(n.usd_per_hour) AS usd_per_hour,
        bool_and(b.is_list) AS is_list, count(DISTINCT (n.node_class, n.usd_per_hour)) AS kinds
    FROM node_hours AS n JOIN class_basis AS b USING (node_class) GROUP BY n.cluster, n.node
), summed AS (
    SELECT c.cluster, c.job_id_raw, c.submit, min(s.node_class) AS node_class, min(s.usd_per_hour) AS usd_per_hour,
        bool_and(s.is_list) AS is_list, count(DISTINCT (s.node_class, s.usd_per_hour)) AS kinds,
        max(s.kinds) AS of_node,
        total((c.gpu_usd + c.mem_usd + c.core_usd) / s.usd_per_hour) AS node_hours
    FROM charge AS c JOIN sized AS s USING (cluster, node) GROUP BY c.cluster, c.job_id_raw, c.submit
)
SELECT cluster, job_id_raw, submit, is_list, CASE WHEN of_node = 1 THEN node_hours END AS node_hours,
    CASE WHEN kinds = 1 AND of_node = 1 THEN node_class END AS node_class,
    CASE WHEN kinds = 1 AND of_node = 1 THEN usd_per_hour END AS usd_per_hour
FROM summed
