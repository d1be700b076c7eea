-- binding: for each node and each time at which an allocation starts or ends (epoch seconds), the binding
-- resource until the next: the one with the largest sum of shares (ties: GPU, memory, core). held is that
-- sum, at most 1; scale brings the attempts' shares down to it where they add up to more. gpu_s, mem_s and
-- core_s are the scaled seconds, up to this time, in which that resource was the binding one.
WITH edge AS (
    SELECT cluster, node, from_s AS at_s, 1 AS n, gpu_share AS gpu, mem_share AS mem, core_share AS core FROM share
    UNION ALL
    SELECT cluster, node, to_s, -1, -gpu_share, -mem_share, -core_share FROM share
), net AS (
    SELECT cluster, node, at_s, sum(n) AS n, sum(gpu) AS gpu, sum(mem) AS mem, sum(core) AS core
    FROM edge GROUP BY cluster, node, at_s
), level AS (
    SELECT cluster, node, at_s, lead(at_s) OVER each_node - at_s AS span_s, sum(n) OVER up_to AS n,
        round(sum(gpu) OVER up_to, 9) AS gpu, round(sum(mem) OVER up_to, 9) AS mem, round(sum(core) OVER up_to, 9) AS core
    FROM net
    WINDOW each_node AS (PARTITION BY cluster, node ORDER BY at_s),
        up_to AS (PARTITION BY cluster, node ORDER BY at_s ROWS UNBOUNDED PRECEDING)
), bound AS (
    SELECT cluster, node, at_s, coalesce(span_s, 0) AS span_s,
        CASE WHEN n = 0 THEN NULL WHEN gpu > 0 AND gpu >= mem AND gpu >= core THEN 'gpu'
            WHEN mem > 0 AND mem >= core THEN 'mem' WHEN core > 0 THEN 'core' END AS resource,
        CASE WHEN n = 0 THEN 0 ELSE greatest(gpu, mem, core) END AS total
    FROM level
), scaled AS (
    SELECT *, least(1, total) AS held, CASE WHEN total > 1 THEN 1 / total ELSE 1 END AS scale FROM bound
)
SELECT cluster, node, at_s, span_s, resource, held, scale,
    coalesce(sum(CASE WHEN resource = 'gpu' THEN span_s * scale END) OVER before, 0) AS gpu_s,
    coalesce(sum(CASE WHEN resource = 'mem' THEN span_s * scale END) OVER before, 0) AS mem_s,
    coalesce(sum(CASE WHEN resource = 'core' THEN span_s * scale END) OVER before, 0) AS core_s
FROM scaled
WINDOW before AS (PARTITION BY cluster, node ORDER BY at_s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
