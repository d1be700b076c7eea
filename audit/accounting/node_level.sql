-- node_level: for each node and each time at which an allocation starts or ends (epoch seconds), how many attempts
-- there are until the next (span_s later), the node's price, and the sums of their shares of each resource.
WITH edge AS (
    SELECT cluster, node, node_no, from_s AS at_s, 1 AS n, gpu_share AS gpu, mem_share AS mem, core_share AS core, usd_per_hour
    FROM share
    UNION ALL
    SELECT cluster, node, node_no, to_s, -1, -gpu_share, -mem_share, -core_share, NULL FROM share
), net AS (
    SELECT cluster, node, node_no, at_s, sum(n) AS n, sum(gpu) AS gpu, sum(mem) AS mem, sum(core) AS core,
        max(usd_per_hour) AS usd_per_hour
    FROM edge GROUP BY cluster, node, node_no, at_s
)
SELECT cluster, node, node_no, at_s, coalesce(lead(at_s) OVER each_node - at_s, 0) AS span_s, sum(n) OVER up_to AS n,
    last_value(usd_per_hour IGNORE NULLS) OVER up_to AS usd_per_hour,
    round(sum(gpu) OVER up_to, 9) AS gpu, round(sum(mem) OVER up_to, 9) AS mem, round(sum(core) OVER up_to, 9) AS core
FROM net
WINDOW each_node AS (PARTITION BY node_no ORDER BY at_s),
    up_to AS (PARTITION BY node_no ORDER BY at_s ROWS UNBOUNDED PRECEDING)
