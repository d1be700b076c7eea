-- by_resource: recoverable dollars by the binding resource that was given up, with how many attempts and families did; and
-- by advice given before (expected), less reruns, which stand with the resource that killed: GPUs, else memory.
SELECT resource, total(usd) AS usd, count(CASE WHEN usd > 0 THEN 1 END) AS attempts,
    count(DISTINCT CASE WHEN usd > 0 THEN (account, family) END) AS families,
    total(expected_usd) AS expected_usd, count(CASE WHEN is_killed THEN 1 END) AS killed
FROM (
    SELECT 'gpus' AS resource, a.gpu_recoverable_usd AS usd, account, family, e.by_gpus AS is_killed,
        coalesce(e.gpu_usd - CASE WHEN e.by_gpus THEN e.reruns_usd ELSE 0 END, 0) AS expected_usd
    FROM attempt AS a LEFT JOIN expected AS e USING (cluster, job_id_raw, submit)
    UNION ALL
    SELECT 'memory', a.mem_recoverable_usd, account, family, e.by_memory,
        coalesce(e.mem_usd - CASE WHEN e.by_memory AND NOT e.by_gpus THEN e.reruns_usd ELSE 0 END, 0)
    FROM attempt AS a LEFT JOIN expected AS e USING (cluster, job_id_raw, submit)
    UNION ALL
    SELECT 'cores', a.core_recoverable_usd, account, family, false, coalesce(e.core_usd, 0)
    FROM attempt AS a LEFT JOIN expected AS e USING (cluster, job_id_raw, submit)
) AS given_up
WHERE usd > 0 OR expected_usd <> 0 OR is_killed GROUP BY resource ORDER BY usd DESC, resource
