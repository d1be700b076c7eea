-- node_coverage: held dollars of each node, and how much of them was charged through a resource whose use was measured.
SELECT node, held_usd, measured_usd
FROM (
    SELECT c.node, total(c.gpu_usd + c.mem_usd + c.core_usd) AS held_usd,
        total(CASE WHEN a.gpu_source IS NULL THEN 0 ELSE c.gpu_usd END
            + CASE WHEN a.mem_source IS NULL THEN 0 ELSE c.mem_usd END
            + CASE WHEN a.core_source IS NULL THEN 0 ELSE c.core_usd END) AS measured_usd
    FROM charge AS c JOIN attempt AS a USING (cluster, job_id_raw, submit)
    WHERE c.node IS NOT NULL
    GROUP BY c.cluster, c.node
) AS by_node ORDER BY held_usd - measured_usd DESC, node
