-- telemetry_overhead: what the collectors cost over all nodes: CPU as a share of one core, in all their watched time and
-- on the worst node; resident memory and bytes written a day at most; samples missed, and the latest. NULL: none told.
SELECT count(*) AS nodes,
    sum(o.cpu_share * c.watched_s) / sum(CASE WHEN o.cpu_share IS NOT NULL THEN c.watched_s END) AS cpu_share,
    max(o.cpu_share) AS worst_cpu_share, arg_max(o.node, o.cpu_share) AS worst_node, max(o.rss_bytes_max) AS rss_bytes_max,
    sum(o.written_bytes_per_day * c.watched_s)
        / sum(CASE WHEN o.written_bytes_per_day IS NOT NULL THEN c.watched_s END) AS written_bytes_per_day,
    max(o.written_bytes_per_day) AS worst_written_bytes_per_day, CAST(sum(o.missed) AS BIGINT) AS missed,
    max(o.late_max_s) AS late_max_s
FROM collector_overhead AS o JOIN telemetry_coverage AS c USING (cluster, node)
