-- opened_advice: the attempts of opened_list that add something to a figure of advice given in advance, by a plan ($unit;
-- where that is empty, the plan at $quantile), with what each adds ($measure; of the resource $name).
SELECT l.cluster, l.job_id_raw, l.submit, logical_job, user_name, account, job_name, family, partition, state, amount,
    CAST(NULL AS DOUBLE) AS of_amount
FROM (
    SELECT w.cluster, w.job_id_raw, w.submit, CASE $measure WHEN 'of' THEN 1
            WHEN 'killed' THEN CAST(by_memory OR by_gpus AS INTEGER) WHEN 'by_memory' THEN CAST(by_memory AS INTEGER)
            WHEN 'by_gpus' THEN CAST(by_gpus AS INTEGER) WHEN 'slowed' THEN CAST(is_slowed AS INTEGER)
            WHEN 'gross_usd' THEN gpu_usd + mem_usd + core_usd WHEN 'reruns_usd' THEN reruns_usd
            WHEN 'net_usd' THEN gpu_usd + mem_usd + core_usd - reruns_usd
            WHEN 'resource_usd' THEN CASE $name WHEN 'gpus' THEN gpu_usd - CASE WHEN by_gpus THEN reruns_usd ELSE 0 END
                WHEN 'memory' THEN mem_usd - CASE WHEN by_memory AND NOT by_gpus THEN reruns_usd ELSE 0 END ELSE core_usd END
            WHEN 'resource_killed' THEN CASE $name WHEN 'gpus' THEN CAST(by_gpus AS INTEGER)
                WHEN 'memory' THEN CAST(by_memory AS INTEGER) END
            WHEN 'resource_of' THEN CASE $name WHEN 'gpus' THEN CAST(of_gpus AS INTEGER)
                WHEN 'memory' THEN CAST(of_memory AS INTEGER) ELSE CAST(of_cores AS INTEGER) END
            WHEN 'of_memory' THEN CAST(of_memory AS INTEGER) WHEN 'of_gpus' THEN CAST(of_gpus AS INTEGER) END AS amount
    FROM won AS w JOIN plan AS p USING (plan) JOIN lowered AS o USING (plan, cluster, job_id_raw, submit)
    WHERE CASE $unit WHEN '' THEN p.quantile = $quantile AND NOT p.watched_only ELSE p.plan = $unit END
) AS adds
JOIN opened_list AS l USING (cluster, job_id_raw, submit)
WHERE amount <> 0
