-- telemetry_nodes: each node of the slice: hours of the window watched, gaps, the longest of them with its reason, and
-- what the collector there cost; least watched first. Without any telemetry no row.
SELECT c.node, c.watched_s / 3600 AS watched_hours, c.window_s / 3600 AS window_hours, c.coverage, c.gaps,
    c.longest_gap_s, c.gap_reason, o.cpu_share, o.rss_bytes_max, o.written_bytes_per_day, o.missed, o.late_max_s
FROM telemetry_coverage AS c LEFT JOIN collector_overhead AS o USING (cluster, node)
WHERE EXISTS (SELECT 1 FROM sample_interval)
ORDER BY c.coverage, c.gaps DESC, c.node
