-- gpu_time: each GPU of the slice as telemetry saw it in the window, in seconds: watched; in MIG mode; shared, several
-- jobs holding it; throttled by heat, power brake or the hardware (the power cap of the clocks is none), of
-- throttle_known_s; touched: active, or with more than 64 MiB of memory beyond the least seen on it while nobody held it;
-- and I/O-bound: touched, its mean activity below 30 % while on its node some task was stalled on I/O (PSI), or the CPUs
-- waited for it, for a fifth of the interval or more; of io_known_s, in which all of that was measured. GPU and node
-- intervals of a node begin together. A low activity is a question, never recoverable by itself.
WITH card AS (
    SELECT cluster, node, uuid, min(least_bytes) AS idle_bytes FROM gpu_held WHERE span_no IS NULL
    GROUP BY cluster, node, uuid
), seen AS (
    SELECT g.cluster, g.node, g.uuid, g.interval_s, g.mig = 1 AS is_mig, g.holder LIKE '%,%' AS is_shared, g.throttled_s,
        g.util_mean,
        greatest(g.util_max, g.util_mean) > 0 OR g.mem_bytes_max > coalesce(c.idle_bytes, 0) + 67108864 AS is_touched,
        greatest(n.iowait_mean, n.psi_io_some_s / nullif(n.interval_s, 0)) AS waited
    FROM sample_gpu AS g
    JOIN slice_node USING (cluster, node)
    LEFT JOIN card AS c USING (cluster, node, uuid)
    CROSS JOIN window_bounds AS w
    LEFT JOIN sample_node AS n ON n.cluster = g.cluster AND n.node = g.node AND n.from_time = g.from_time
    WHERE g.from_time >= w.from_time AND g.from_time < w.to_time
)
SELECT cluster, node, uuid, sum(interval_s) AS watched_s, sum(CASE WHEN is_mig THEN interval_s ELSE 0 END) AS mig_s,
    sum(CASE WHEN is_shared THEN interval_s ELSE 0 END) AS shared_s, sum(throttled_s) AS throttled_s,
    sum(CASE WHEN throttled_s IS NOT NULL THEN interval_s ELSE 0 END) AS throttle_known_s,
    sum(CASE WHEN is_touched THEN interval_s ELSE 0 END) AS touched_s,
    sum(CASE WHEN is_touched AND util_mean IS NOT NULL AND waited IS NOT NULL THEN interval_s ELSE 0 END) AS io_known_s,
    sum(CASE WHEN is_touched AND util_mean < 30 AND waited >= 0.2 THEN interval_s ELSE 0 END) AS io_bound_s
FROM seen GROUP BY cluster, node, uuid
