-- queued: what a request that was eligible and waiting would have cost, in dollars a second, from the later of submit and
-- eligible to its start, or to the end of one that never started (epoch seconds, cut at the window).
SELECT NULL AS plan, r.partition, r.usd_per_hour / 3600 AS usd_per_s,
    greatest(epoch(j.eligible), epoch(j.submit), epoch(w.from_time)) AS from_s,
    least(coalesce(epoch(j.start_time), epoch(j.end_time), epoch(w.to_time)), epoch(w.to_time)) AS to_s
FROM job AS j JOIN request_rate AS r USING (cluster, job_id_raw, submit) CROSS JOIN window_bounds AS w
WHERE j.eligible IS NOT NULL
