-- totals: what all attempts held and cost, by bucket, and how much of it was measured.
SELECT count(*) AS attempts, count(DISTINCT (cluster, logical_job)) AS jobs,
    sum(core_hours) AS core_hours, sum(gpu_hours) AS gpu_hours, sum(mem_gib_hours) AS mem_gib_hours,
    sum(usd) AS held_usd, sum(measured_usd) AS measured_usd, sum(lost_usd) AS lost_usd,
    sum(not_measured_usd) AS not_measured_usd, sum(used_usd) AS used_usd, sum(kept_usd) AS kept_usd,
    sum(recoverable_usd) AS recoverable_usd, count(CASE WHEN is_unplaced THEN 1 END) AS unplaced_attempts,
    count(coalesce(mem_source, core_source, gpu_source)) AS measured_attempts,
    count(CASE WHEN asks_too_little THEN 1 END) AS asks_too_little
FROM attempt
