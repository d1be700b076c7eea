-- opened_share: the attempts of opened_list with what each held (of_amount) and the part of that which was measured, or
-- used ($measure), for figures that are one sum over the other. Used over held is of what was measured only.
SELECT cluster, job_id_raw, submit, logical_job, user_name, account, job_name, family, partition, state, amount, of_amount
FROM (
    SELECT *,
        CASE $measure WHEN 'measured_usd' THEN measured_usd
            WHEN 'measured_core_hours' THEN CASE WHEN core_source IS NULL THEN 0 ELSE core_hours END
            WHEN 'measured_gpu_hours' THEN CASE WHEN gpu_source IS NULL THEN 0 ELSE gpu_hours END
            WHEN 'measured_mem_gib_hours' THEN CASE WHEN mem_source IS NULL THEN 0 ELSE mem_gib_hours END
            WHEN 'used_core_hours' THEN CASE WHEN core_source IS NOT NULL THEN core_hours * core_used_share END
            WHEN 'used_gpu_hours' THEN CASE WHEN gpu_source IS NOT NULL THEN gpu_hours * gpu_used_share END
            WHEN 'used_mem_gib_hours' THEN CASE WHEN mem_source IS NOT NULL THEN mem_gib_hours * mem_used_share END END AS amount,
        CASE WHEN $measure = 'measured_usd' THEN usd WHEN $measure LIKE '%core_hours' THEN core_hours
            WHEN $measure LIKE '%gpu_hours' THEN gpu_hours WHEN $measure LIKE '%mem_gib_hours' THEN mem_gib_hours END AS of_amount
    FROM opened_list
) AS measured
WHERE amount IS NOT NULL AND of_amount > 0
