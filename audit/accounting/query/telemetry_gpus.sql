-- telemetry_gpus: over all GPUs that telemetry saw: GPU-hours watched, in MIG mode, shared, throttled and I/O-bound, each
-- of the hours in which it was measured. NULL: measured for none.
SELECT count(*) AS gpus, sum(watched_s) / 3600 AS watched_gpu_hours, count(CASE WHEN mig_s > 0 THEN 1 END) AS mig_gpus,
    sum(mig_s) / 3600 AS mig_gpu_hours, sum(shared_s) / 3600 AS shared_gpu_hours,
    sum(CASE WHEN throttle_known_s > 0 THEN coalesce(throttled_s, 0) END) / 3600 AS throttled_gpu_hours,
    sum(throttle_known_s) / 3600 AS throttle_measured_gpu_hours, sum(touched_s) / 3600 AS touched_gpu_hours,
    sum(CASE WHEN io_known_s > 0 THEN io_bound_s END) / 3600 AS io_bound_gpu_hours,
    sum(io_known_s) / 3600 AS io_measured_gpu_hours
FROM gpu_time
