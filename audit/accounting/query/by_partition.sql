-- by_partition: what attempts held, by the partition they ran in and by bucket.
SELECT partition, count(*) AS attempts, total(core_hours) AS core_hours, total(gpu_hours) AS gpu_hours,
    total(mem_gib_hours) AS mem_gib_hours, total(usd) AS held_usd, total(used_usd) AS used_usd, total(kept_usd) AS kept_usd,
    total(not_measured_usd) AS not_measured_usd, total(lost_usd) AS lost_usd, total(recoverable_usd) AS recoverable_usd
FROM attempt GROUP BY partition ORDER BY held_usd DESC NULLS LAST, partition
