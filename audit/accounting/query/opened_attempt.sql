-- opened_attempt: the attempts of opened_list that add something to a figure, with what each adds ($measure); those
-- that add nothing are left out, but where a figure is a point of all in order ($zeros).
SELECT cluster, job_id_raw, submit, logical_job, user_name, account, job_name, family, partition, state, amount,
    CAST(NULL AS DOUBLE) AS of_amount
FROM (
    SELECT *, CASE $measure
            WHEN 'attempts' THEN 1 WHEN 'core_hours' THEN core_hours WHEN 'gpu_hours' THEN gpu_hours
            WHEN 'mem_gib_hours' THEN mem_gib_hours WHEN 'held_usd' THEN usd WHEN 'used_usd' THEN used_usd
            WHEN 'kept_usd' THEN kept_usd WHEN 'not_measured_usd' THEN not_measured_usd WHEN 'lost_usd' THEN lost_usd
            WHEN 'recoverable_usd' THEN recoverable_usd WHEN 'gpus_recoverable_usd' THEN gpu_recoverable_usd
            WHEN 'memory_recoverable_usd' THEN mem_recoverable_usd WHEN 'cores_recoverable_usd' THEN core_recoverable_usd
            WHEN 'given_up_usd' THEN given_up_usd WHEN 'given_up' THEN CAST(given_up_usd > 0 AS INTEGER)
            WHEN 'lost_attempts' THEN CAST(lost_cause IS NOT NULL AS INTEGER)
            WHEN 'asks_too_little' THEN CAST(asks_too_little AS INTEGER)
            WHEN 'mem_beside' THEN CASE WHEN mem_source = 'cgroup' THEN CAST(mem_accounting_bytes > 0 AS INTEGER) END
            WHEN 'mem_cgroup_only' THEN CASE WHEN mem_source = 'cgroup' AND mem_accounting_bytes IS NULL THEN 1 END
            WHEN 'mem_cgroup_bytes' THEN CASE WHEN mem_source = 'cgroup' AND mem_accounting_bytes > 0 THEN mem_used_bytes END
            WHEN 'mem_accounting_bytes' THEN CASE WHEN mem_source = 'cgroup' THEN mem_accounting_bytes END
            WHEN 'mem_lower_share' THEN CASE WHEN mem_source = 'cgroup' THEN 1 - mem_accounting_bytes / nullif(mem_used_bytes, 0) END
            WHEN 'mem_missed' THEN CASE WHEN mem_source = 'cgroup' AND mem_used_bytes > 1.05 * mem_accounting_bytes THEN 1 END
            WHEN 'held_mem_bytes' THEN held_mem_bytes WHEN 'mem_used_bytes' THEN mem_used_bytes
            WHEN 'held_cores' THEN held_cores WHEN 'cores_used' THEN cores_used WHEN 'cores_max' THEN cores_max
            WHEN 'held_gpus' THEN nullif(held_gpus, 0) WHEN 'gpus_used' THEN gpus_used
            WHEN 'unmeasured_gpu_hours' THEN CASE WHEN gpu_source IS NULL THEN gpu_hours END
            WHEN 'unknown_gpu_hours' THEN CASE WHEN gpu_util IS NULL THEN gpu_hours * gpu_used_share END
            WHEN 'measured_gpu_hours' THEN CASE WHEN gpu_source IS NOT NULL THEN gpu_hours END
            WHEN 'untouched_gpu_hours' THEN gpu_hours * (1 - gpu_used_share)
            WHEN 'gpu_measured' THEN CAST(gpu_source IS NOT NULL AND gpu_hours > 0 AS INTEGER)
            WHEN 'untouched' THEN CAST(gpus_used < held_gpus AND gpu_hours > 0 AS INTEGER) END AS amount
    FROM opened_list
) AS measured
WHERE amount <> 0 OR (amount = 0 AND $zeros)
