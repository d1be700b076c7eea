-- gpu_never_touched: by partition, the attempts of which some GPU was never touched, of those whose GPUs were
-- watched (accounting alone tells only of GPUs that were active);
-- the GPU-hours of these GPUs; and what is recoverable through the GPU counts.
SELECT partition, count(CASE WHEN gpus_used < held_gpus THEN 1 END) AS attempts, count(*) AS of_attempts,
    total(gpu_hours * (1 - gpu_used_share)) AS gpu_hours, total(gpu_hours) AS of_gpu_hours, total(gpu_recoverable_usd) AS usd
FROM attempt WHERE gpu_hours > 0 AND gpu_source IN ('telemetry', 'jobstats')
GROUP BY partition ORDER BY gpu_hours DESC, partition
