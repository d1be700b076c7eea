-- binding: for each node and each time at which an allocation starts or ends (epoch seconds), the binding
-- resource until the next: the one with the largest sum of shares (ties: GPU, memory, core). total is that sum, held the
-- same but at most 1; scale brings the attempts' shares down to it where they add up to more.
WITH bound AS (
    SELECT *, CASE WHEN n = 0 THEN NULL WHEN gpu > 0 AND gpu >= mem AND gpu >= core THEN 'gpu'
            WHEN mem > 0 AND mem >= core THEN 'mem' WHEN core > 0 THEN 'core' END AS resource,
        CASE WHEN n = 0 THEN 0 ELSE greatest(gpu, mem, core) END AS total
    FROM node_level
)
SELECT cluster, node, node_no, at_s, span_s, usd_per_hour, gpu, mem, core, resource, total, least(1, total) AS held,
    CASE WHEN total > 1 THEN 1 / total ELSE 1 END AS scale
FROM bound
