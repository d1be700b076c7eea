-- lost: held dollars of attempts that ended in failure, or were cut by requeue or preemption, by cause.
SELECT lost_cause AS cause, count(*) AS attempts, sum(usd) AS usd
FROM attempt WHERE lost_cause IS NOT NULL GROUP BY lost_cause ORDER BY usd DESC NULLS LAST, cause
