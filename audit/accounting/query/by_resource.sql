-- by_resource: recoverable dollars by the binding resource that was given up, with how many attempts and families did.
SELECT resource, total(usd) AS usd, count(*) AS attempts, count(DISTINCT (account, family)) AS families
FROM (
    SELECT 'gpus' AS resource, gpu_recoverable_usd AS usd, account, family FROM attempt
    UNION ALL
    SELECT 'memory', mem_recoverable_usd, account, family FROM attempt
    UNION ALL
    SELECT 'cores', core_recoverable_usd, account, family FROM attempt
) AS given_up
WHERE usd > 0 GROUP BY resource ORDER BY usd DESC, resource
