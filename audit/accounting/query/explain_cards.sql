-- explain_cards: the GPUs that telemetry saw, with what each adds to a figure ($measure).
SELECT node, uuid, amount, CAST(NULL AS DOUBLE) AS of_amount
FROM (
    SELECT node, uuid, CASE $measure WHEN 'gpus' THEN 1 WHEN 'mig_gpus' THEN CAST(mig_s > 0 AS INTEGER)
            WHEN 'watched_gpu_hours' THEN watched_s / 3600 WHEN 'mig_gpu_hours' THEN mig_s / 3600
            WHEN 'shared_gpu_hours' THEN shared_s / 3600 WHEN 'throttled_gpu_hours' THEN throttled_s / 3600
            WHEN 'throttle_measured_gpu_hours' THEN throttle_known_s / 3600 WHEN 'touched_gpu_hours' THEN touched_s / 3600
            WHEN 'io_bound_gpu_hours' THEN io_bound_s / 3600 WHEN 'io_measured_gpu_hours' THEN io_known_s / 3600 END AS amount
    FROM gpu_time
) AS by_card
WHERE amount <> 0
