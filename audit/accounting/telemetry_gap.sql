-- telemetry_gap: for each node of the slice, the stretches of the window (epoch seconds) of more than a second that no
-- collector's interval covers, with the main reason: the one that collectors gave for most of it (a clock's step, which is
-- set right, last), else no collector (no interval at all), not started (before the first), ended (after the last) or
-- not known. Without telemetry it has no row.
WITH bounds AS (
    SELECT epoch(from_time) AS from_s, epoch(to_time) AS to_s FROM window_bounds
), seen AS (
    SELECT i.cluster, i.node, epoch(i.from_time) AS from_s, epoch(i.from_time) + i.interval_s AS to_s
    FROM sample_interval AS i JOIN slice_node USING (cluster, node) CROSS JOIN bounds AS b
    WHERE i.role = 'node' AND epoch(i.from_time) < b.to_s AND epoch(i.from_time) + i.interval_s > b.from_s
    UNION ALL
    SELECT s.cluster, s.node, b.to_s, b.to_s FROM slice_node AS s CROSS JOIN bounds AS b
    WHERE EXISTS (SELECT 1 FROM sample_interval WHERE role = 'node')
), reached AS (
    SELECT cluster, node, from_s AS to_s, max(to_s) OVER before AS from_s, count(*) OVER each_node AS intervals
    FROM seen WINDOW each_node AS (PARTITION BY cluster, node),
        before AS (PARTITION BY cluster, node ORDER BY from_s, to_s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), gap AS (
    SELECT r.cluster, r.node, greatest(coalesce(r.from_s, b.from_s), b.from_s) AS from_s, r.to_s,
        CASE WHEN r.intervals = 1 THEN 'no collector' WHEN r.from_s IS NULL THEN 'not started'
            WHEN r.to_s = b.to_s THEN 'ended' ELSE 'not known' END AS otherwise
    FROM reached AS r CROSS JOIN bounds AS b
    WHERE r.to_s - greatest(coalesce(r.from_s, b.from_s), b.from_s) > 1
), told AS (
    SELECT g.cluster, g.node, g.from_s, c.reason,
        sum(least(g.to_s, epoch(c.from_time) + c.interval_s) - greatest(g.from_s, epoch(c.from_time))) AS told_s
    FROM gap AS g
    JOIN collector_gap AS c ON c.cluster = g.cluster AND c.node = g.node
        AND epoch(c.from_time) < g.to_s AND epoch(c.from_time) + c.interval_s > g.from_s
    GROUP BY g.cluster, g.node, g.from_s, c.reason
)
SELECT g.cluster, g.node, g.from_s, g.to_s, coalesce(arg_max(t.reason, (t.reason <> 'clock', t.told_s, t.reason)), any_value(g.otherwise)) AS reason
FROM gap AS g LEFT JOIN told AS t USING (cluster, node, from_s)
GROUP BY g.cluster, g.node, g.from_s, g.to_s
