-- binding: for each node and each time at which an allocation starts or ends (epoch seconds), the binding
-- resource until the next: the one with the largest sum of shares (ties: GPU, memory, core). held is that
-- sum, at most 1; scale brings the attempts' shares down to it where they add up to more. needed is the largest sum
-- of the shares advised, at most held; held - needed could be sold again (recoverable); win is that over what the
-- attempts gave up of the binding resource together.
WITH bound AS (
    SELECT *, CASE WHEN n = 0 THEN NULL WHEN gpu > 0 AND gpu >= mem AND gpu >= core THEN 'gpu'
            WHEN mem > 0 AND mem >= core THEN 'mem' WHEN core > 0 THEN 'core' END AS resource,
        CASE WHEN n = 0 THEN 0 ELSE greatest(gpu, mem, core) END AS total,
        CASE WHEN n = 0 THEN 0 ELSE greatest(gpu_kept, mem_kept, core_kept) END AS kept
    FROM node_level
), scaled AS (
    SELECT *, least(1, total) AS held, least(1, total, kept) AS needed, CASE WHEN total > 1 THEN 1 / total ELSE 1 END AS scale,
        CASE resource WHEN 'gpu' THEN gpu - gpu_kept WHEN 'mem' THEN mem - mem_kept
            WHEN 'core' THEN core - core_kept ELSE 0 END AS given_up
    FROM bound
)
SELECT cluster, node, at_s, span_s, usd_per_hour, resource, held, needed, scale,
    CASE WHEN given_up > 1e-8 THEN (held - needed) / given_up ELSE 0 END AS win
FROM scaled
