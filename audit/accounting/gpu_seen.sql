-- gpu_seen: which cards telemetry saw in an hour on a node, under which number (minor: the one in Slurm's IDX), and
-- which jobs held them as the node itself told (by its devices cgroups, or by the processes on the card).
SELECT cluster, node, uuid, coalesce(minor, "index") AS minor, epoch_us(from_time) // 3600000000 AS hour, holder, holder_source,
    min(from_time) AS first_time, max(from_time) AS last_time, count(*) AS intervals, sum(interval_s) AS watched_s,
    coalesce(max(mig), 0) = 1 AS is_mig,
    max(greatest(util_max, util_mean, CASE WHEN graphics_active_mean > 0 THEN 1 END)) > 0 AS is_active
FROM sample_gpu GROUP BY ALL
