-- node_level: for each node and each time at which an allocation starts or ends (epoch seconds), how many attempts
-- there are until the next (span_s later), the node's price, and the sums of their shares of each resource: held, and
-- advised (kept).
WITH edge AS (
    SELECT cluster, node, from_s AS at_s, 1 AS n, gpu_share AS gpu, mem_share AS mem, core_share AS core,
        gpu_kept, mem_kept, core_kept, usd_per_hour
    FROM share
    UNION ALL
    SELECT cluster, node, to_s, -1, -gpu_share, -mem_share, -core_share, -gpu_kept, -mem_kept, -core_kept, NULL FROM share
), net AS (
    SELECT cluster, node, at_s, sum(n) AS n, sum(gpu) AS gpu, sum(mem) AS mem, sum(core) AS core,
        sum(gpu_kept) AS gpu_kept, sum(mem_kept) AS mem_kept, sum(core_kept) AS core_kept,
        max(usd_per_hour) AS usd_per_hour
    FROM edge GROUP BY cluster, node, at_s
)
SELECT cluster, node, at_s, coalesce(lead(at_s) OVER each_node - at_s, 0) AS span_s, sum(n) OVER up_to AS n,
    last_value(usd_per_hour IGNORE NULLS) OVER up_to AS usd_per_hour,
    round(sum(gpu) OVER up_to, 9) AS gpu, round(sum(mem) OVER up_to, 9) AS mem, round(sum(core) OVER up_to, 9) AS core,
    round(sum(gpu_kept) OVER up_to, 9) AS gpu_kept, round(sum(mem_kept) OVER up_to, 9) AS mem_kept,
    round(sum(core_kept) OVER up_to, 9) AS core_kept
FROM net
WINDOW each_node AS (PARTITION BY cluster, node ORDER BY at_s),
    up_to AS (PARTITION BY cluster, node ORDER BY at_s ROWS UNBOUNDED PRECEDING)
