-- lost: what attempts held that ended in failure, or were cut by requeue or preemption, by cause.
SELECT lost_cause AS cause, count(*) AS attempts, total(core_hours) AS core_hours, total(gpu_hours) AS gpu_hours,
    total(mem_gib_hours) AS mem_gib_hours, total(usd) AS usd
FROM attempt WHERE lost_cause IS NOT NULL GROUP BY lost_cause ORDER BY usd DESC NULLS LAST, cause
