-- by_resource: recoverable dollars by the binding resource that was given up, with how many attempts and families did; and
-- by advice given before (expected), less reruns, which stand with the resource that killed: GPUs, else memory; with how
-- many attempts it lowers that resource of, and kills by it.
WITH told AS (
    SELECT a.account, a.family, a.gpu_recoverable_usd, a.mem_recoverable_usd, a.core_recoverable_usd,
        e.gpu_usd, e.mem_usd, e.core_usd, e.reruns_usd, e.by_gpus, e.by_memory, l.of_gpus, l.of_memory, l.of_cores
    FROM attempt AS a LEFT JOIN expected AS e USING (cluster, job_id_raw, submit)
    LEFT JOIN lowered AS l ON l.plan = e.plan AND l.cluster = a.cluster AND l.job_id_raw = a.job_id_raw AND l.submit = a.submit
)
SELECT resource, total(usd) AS usd, count(CASE WHEN usd > 0 THEN 1 END) AS attempts,
    count(DISTINCT CASE WHEN usd > 0 THEN (account, family) END) AS families,
    total(expected_usd) AS expected_usd, count(CASE WHEN is_killed THEN 1 END) AS killed,
    count(CASE WHEN is_lowered THEN 1 END) AS "of"
FROM (
    SELECT 'gpus' AS resource, gpu_recoverable_usd AS usd, account, family, by_gpus AS is_killed, of_gpus AS is_lowered,
        coalesce(gpu_usd - CASE WHEN by_gpus THEN reruns_usd ELSE 0 END, 0) AS expected_usd
    FROM told
    UNION ALL
    SELECT 'memory', mem_recoverable_usd, account, family, by_memory, of_memory,
        coalesce(mem_usd - CASE WHEN by_memory AND NOT by_gpus THEN reruns_usd ELSE 0 END, 0)
    FROM told
    UNION ALL
    SELECT 'cores', core_recoverable_usd, account, family, false, of_cores, coalesce(core_usd, 0)
    FROM told
) AS given_up
WHERE usd > 0 OR expected_usd <> 0 OR is_killed OR is_lowered GROUP BY resource ORDER BY usd DESC, resource
