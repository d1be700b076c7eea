-- gpu_seen: which cards telemetry saw in an hour on a node, under which number (minor: the one in Slurm's IDX), and
-- which jobs held them as the node itself told (by its devices cgroups, or by the processes on the card).
SELECT any_value(cluster) AS cluster, node, uuid, coalesce(min(minor), min("index")) AS minor, holder,
    epoch_us(from_time) // 3600000000 AS hour, any_value(holder_source) AS holder_source, min(from_time) AS first_time,
    max(from_time) AS last_time, sum(interval_s) AS watched_s, coalesce(max(mig), 0) = 1 AS is_mig
FROM sample_gpu GROUP BY node, uuid, holder, epoch_us(from_time) // 3600000000
