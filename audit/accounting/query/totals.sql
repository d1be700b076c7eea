-- totals: what all attempts held, cost and lost, and how much of it was measured.
SELECT count(*) AS attempts, count(DISTINCT (cluster, logical_job)) AS jobs,
    sum(core_hours) AS core_hours, sum(gpu_hours) AS gpu_hours, sum(mem_gib_hours) AS mem_gib_hours,
    sum(usd) AS held_usd, sum(measured_usd) AS measured_usd,
    sum(CASE WHEN lost_cause IS NOT NULL THEN usd WHEN usd IS NOT NULL THEN 0 END) AS lost_usd,
    sum(CASE WHEN lost_cause IS NULL THEN usd - measured_usd WHEN usd IS NOT NULL THEN 0 END) AS not_measured_usd,
    count(CASE WHEN is_unplaced THEN 1 END) AS unplaced_attempts
FROM attempt
