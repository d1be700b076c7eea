-- families: attempts of one account whose job names differ by dates, numbers and hashes only: what they held, by
-- bucket, and of memory, cores and GPUs what was asked (the median of what was held over all nodes) and needed: 10 %,
-- half and 90 % of the attempts needed no more (NULL: not measured; cores by the most in a minute). Beside it what advice
-- given before would have won back, less reruns (expected_usd), and of how many it lowers something, kills or slows them.
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
    quantile_disc(gpus_used, 0.9) AS gpus_need_p90, coalesce(total(e_net_usd), 0) AS expected_usd,
    count(CASE WHEN e_killed THEN 1 END) AS killed, count(e_killed) AS "of", count(CASE WHEN e_slowed THEN 1 END) AS slowed
FROM attempt LEFT JOIN (
    SELECT cluster, job_id_raw, submit, gpu_usd + mem_usd + core_usd - reruns_usd AS e_net_usd, by_memory OR by_gpus AS e_killed,
        is_slowed AS e_slowed
    FROM expected
) AS e USING (cluster, job_id_raw, submit)
GROUP BY account, family
ORDER BY recoverable_usd DESC NULLS LAST, held_usd DESC NULLS LAST, account, family
