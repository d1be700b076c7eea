-- abstained: attempts that the model gave no advice for, since too little was known or it was not asked (missing), what
-- they held, and whether telemetry watched any attempt at all.
SELECT count(*) AS "of", count(CASE WHEN r.cluster IS NULL THEN 1 END) AS missing,
    count(CASE WHEN coalesce(r.abstained, true) THEN 1 END) AS attempts,
    coalesce(total(CASE WHEN coalesce(r.abstained, true) THEN a.usd END), 0) AS usd,
    coalesce(bool_or(a.mem_source IN ('cgroup', 'jobstats') OR a.gpu_source IN ('telemetry', 'jobstats')
        OR a.core_source IN ('cgroup', 'jobstats')), false) AS is_watched
FROM attempt AS a LEFT JOIN advice AS r USING (cluster, job_id_raw, submit)
