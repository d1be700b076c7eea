-- by_partition: what attempts held, by the partition they ran in and by bucket.
SELECT partition, count(*) AS attempts, sum(core_hours) AS core_hours, sum(gpu_hours) AS gpu_hours,
    sum(mem_gib_hours) AS mem_gib_hours, sum(usd) AS held_usd, sum(used_usd) AS used_usd, sum(kept_usd) AS kept_usd,
    sum(not_measured_usd) AS not_measured_usd, sum(lost_usd) AS lost_usd, sum(recoverable_usd) AS recoverable_usd
FROM attempt GROUP BY partition ORDER BY held_usd DESC NULLS LAST, partition
