-- totals: what all attempts held and cost, by bucket, and how much of it was measured.
SELECT count(*) AS attempts, count(DISTINCT (cluster, logical_job)) AS jobs,
    total(core_hours) AS core_hours, total(gpu_hours) AS gpu_hours, total(mem_gib_hours) AS mem_gib_hours,
    total(usd) AS held_usd, total(measured_usd) AS measured_usd, total(lost_usd) AS lost_usd,
    total(not_measured_usd) AS not_measured_usd, total(used_usd) AS used_usd, total(kept_usd) AS kept_usd,
    total(recoverable_usd) AS recoverable_usd, count(CASE WHEN is_unplaced THEN 1 END) AS unplaced_attempts,
    count(coalesce(mem_source, core_source, gpu_source)) AS measured_attempts,
    count(CASE WHEN asks_too_little THEN 1 END) AS asks_too_little
FROM attempt
