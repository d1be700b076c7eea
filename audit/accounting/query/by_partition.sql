-- by_partition: what attempts held, by the partition they ran in.
SELECT partition, count(*) AS attempts, sum(usd) AS held_usd, sum(core_hours) AS core_hours, sum(gpu_hours) AS gpu_hours,
    sum(mem_gib_hours) AS mem_gib_hours
FROM attempt GROUP BY partition ORDER BY held_usd DESC NULLS LAST, partition
