-- waiting_hour: what the requests of each partition that were eligible and waiting in an hour would have cost in it:
-- from the later of submit and eligible to the start, or to the end of one that never started.
WITH queued AS (
    SELECT r.partition, r.usd_per_hour / 3600 AS usd_per_s,
        greatest(epoch(j.eligible), epoch(j.submit), epoch(w.from_time)) AS from_s,
        least(coalesce(epoch(j.start_time), epoch(j.end_time), epoch(w.to_time)), epoch(w.to_time)) AS to_s
    FROM job AS j JOIN request_rate AS r USING (cluster, job_id_raw, submit) CROSS JOIN window_bounds AS w
    WHERE j.eligible IS NOT NULL AND r.usd_per_hour > 0
), change AS (
    SELECT partition, CAST(hour AS BIGINT) AS hour, sum(usd_per_s) AS usd_per_s, sum(usd_per_s * (at_s - hour * 3600)) AS before_usd
    FROM (
        SELECT partition, floor(from_s / 3600) AS hour, from_s AS at_s, usd_per_s FROM queued WHERE to_s > from_s
        UNION ALL
        SELECT partition, ceil(to_s / 3600) - 1, to_s, -usd_per_s FROM queued WHERE to_s > from_s
    ) AS edge GROUP BY partition, hour
), reach AS (
    SELECT partition, unnest(range(min(hour), max(hour) + 1)) AS hour FROM change GROUP BY partition
)
SELECT r.partition, r.hour,
    coalesce(sum(c.usd_per_s) OVER earlier, 0) * 3600 + coalesce(c.usd_per_s * 3600 - c.before_usd, 0)
        AS waiting_usd
FROM reach AS r
LEFT JOIN change AS c ON c.partition IS NOT DISTINCT FROM r.partition AND c.hour = r.hour
WINDOW earlier AS (PARTITION BY r.partition ORDER BY r.hour ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
