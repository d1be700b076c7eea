-- collector_overhead: what the collector of each node of the slice cost in the window, as it measured itself: CPU as a
-- share of one core, resident memory at most, bytes written a day, samples left out, and the latest sample.
SELECT i.cluster, i.node, sum(i.own_cpu_s) / sum(CASE WHEN i.own_cpu_s IS NOT NULL THEN i.interval_s END) AS cpu_share,
    max(i.own_rss_bytes) AS rss_bytes_max,
    86400 * sum(i.own_written_bytes) / sum(CASE WHEN i.own_written_bytes IS NOT NULL THEN i.interval_s END) AS written_bytes_per_day,
    TRY_CAST(sum(i.missed) AS BIGINT) AS missed, max(i.late_max_s) AS late_max_s
FROM sample_interval AS i
JOIN slice_node USING (cluster, node)
CROSS JOIN window_bounds AS w
WHERE i.role = 'node' AND i.from_time >= w.from_time AND i.from_time < w.to_time
GROUP BY i.cluster, i.node
