-- telemetry_coverage: how much of the window collectors watched of each node of the slice: all but its gaps; the longest
-- gap and the reason that holds for most of the time not watched. Without telemetry it has no row.
WITH gap AS (
    SELECT cluster, node, sum(to_s - from_s) AS lost_s, count(*) AS gaps, max(to_s - from_s) AS longest_gap_s,
        arg_max(reason, to_s - from_s) AS gap_reason
    FROM telemetry_gap GROUP BY cluster, node
), seen AS (
    SELECT cluster, node, min(from_time) AS first_time, max(from_time + to_microseconds(CAST(interval_s * 1e6 AS BIGINT))) AS last_time
    FROM sample_interval WHERE role = 'node' GROUP BY cluster, node
)
SELECT n.cluster, n.node, epoch(w.to_time) - epoch(w.from_time) - coalesce(g.lost_s, 0) AS watched_s,
    epoch(w.to_time) - epoch(w.from_time) AS window_s,
    1 - coalesce(g.lost_s, 0) / nullif(epoch(w.to_time) - epoch(w.from_time), 0) AS coverage,
    coalesce(g.gaps, 0) AS gaps, g.longest_gap_s, g.gap_reason, s.first_time, s.last_time
FROM slice_node AS n CROSS JOIN window_bounds AS w
LEFT JOIN gap AS g USING (cluster, node)
LEFT JOIN seen AS s USING (cluster, node)
WHERE EXISTS (SELECT 1 FROM sample_interval WHERE role = 'node')
