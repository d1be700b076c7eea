-- families: attempts of one account whose job names differ by dates, numbers and hashes only: what they held, by
-- bucket, and of memory, cores and GPUs what was asked (the median of what was held over all nodes) and needed: 10 %,
-- half and 90 % of the attempts needed no more (NULL: not measured; cores by the most in a minute).
SELECT account, family, count(*) AS attempts, count(DISTINCT user_name) AS users, min(user_name) AS "user",
    count(DISTINCT partition) AS partitions, min(partition) AS partition, total(core_hours) AS core_hours,
    total(gpu_hours) AS gpu_hours, total(mem_gib_hours) AS mem_gib_hours, total(usd) AS held_usd, total(used_usd) AS used_usd,
    total(kept_usd) AS kept_usd, total(not_measured_usd) AS not_measured_usd, total(lost_usd) AS lost_usd,
    total(recoverable_usd) AS recoverable_usd, total(gpu_recoverable_usd) AS gpus_recoverable_usd,
    total(mem_recoverable_usd) AS memory_recoverable_usd, total(core_recoverable_usd) AS cores_recoverable_usd,
    count(CASE WHEN asks_too_little THEN 1 END) AS asks_too_little, count(lost_cause) AS lost_attempts,
    quantile_disc(held_mem_bytes, 0.5) AS mem_asked_bytes, quantile_disc(mem_used_bytes, 0.1) AS mem_need_p10_bytes,
    quantile_disc(mem_used_bytes, 0.5) AS mem_need_p50_bytes, quantile_disc(mem_used_bytes, 0.9) AS mem_need_p90_bytes,
    quantile_disc(held_cores, 0.5) AS cores_asked, quantile_disc(cores_max, 0.1) AS cores_need_p10,
    quantile_disc(cores_max, 0.5) AS cores_need_p50, quantile_disc(cores_max, 0.9) AS cores_need_p90,
    quantile_disc(cores_used, 0.5) AS cores_used_p50, quantile_disc(nullif(held_gpus, 0), 0.5) AS gpus_asked,
    quantile_disc(gpus_used, 0.1) AS gpus_need_p10, quantile_disc(gpus_used, 0.5) AS gpus_need_p50,
    quantile_disc(gpus_used, 0.9) AS gpus_need_p90
FROM attempt GROUP BY account, family
ORDER BY recoverable_usd DESC NULLS LAST, held_usd DESC NULLS LAST, account, family
