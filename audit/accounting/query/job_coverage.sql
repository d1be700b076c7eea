-- job_coverage: share of logical jobs for which most of what they cost was charged through a measured resource.
SELECT avg(CASE WHEN measured_usd >= usd / 2 THEN 1.0 ELSE 0.0 END) AS jobs
FROM (
    SELECT cluster, logical_job, total(usd) AS usd, total(measured_usd) AS measured_usd
    FROM attempt GROUP BY cluster, logical_job
) AS job_cost
WHERE usd > 0
