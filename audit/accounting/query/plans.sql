-- plans: for each plan of which the replay says something: what advice given before attempts started would have won back,
-- killed attempts saving nothing (gross_usd), what running these once more would have cost, and of how many attempts it
-- lowers something (of; of_memory, of_gpus: that resource), kills or slows them.
SELECT p.plan, p.quantile, p.watched_only, coalesce(total(w.gpu_usd + w.mem_usd + w.core_usd), 0) AS gross_usd,
    coalesce(total(w.reruns_usd), 0) AS reruns_usd, count(w.plan) AS "of",
    count(CASE WHEN w.by_memory OR w.by_gpus THEN 1 END) AS killed, count(CASE WHEN w.by_memory THEN 1 END) AS by_memory,
    count(CASE WHEN w.by_gpus THEN 1 END) AS by_gpus, count(CASE WHEN w.is_slowed THEN 1 END) AS slowed,
    count(CASE WHEN l.of_memory THEN 1 END) AS of_memory, count(CASE WHEN l.of_gpus THEN 1 END) AS of_gpus
FROM plan AS p LEFT JOIN won AS w USING (plan) LEFT JOIN lowered AS l USING (plan, cluster, job_id_raw, submit)
WHERE p.quantile IN (SELECT quantile FROM recommendation)
GROUP BY p.plan, p.quantile, p.watched_only ORDER BY p.quantile
