-- node_hours: for each node and size, hours of the whole node: installed (in the slice and the window, data
-- gaps left out), held (the integral of held), recoverable (of what could be sold again, judged with hindsight), expected
-- (the same by advice given before, less reruns), down and reserved (held by nothing, and not down). capacity =
-- installed - down and idle = capacity - held follow; what was reserved is part of idle. Without node states in the evidence, down and
-- reserved are not measured: NULL.
WITH held AS (
    SELECT n.cluster, n.node, n.from_s, total(b.held * b.span_s) / 3600 AS hours
    FROM binding AS b
    JOIN node_span AS n ON n.cluster = b.cluster AND n.node = b.node AND b.at_s >= n.from_s AND b.at_s < n.to_s
    GROUP BY n.cluster, n.node, n.from_s
), won AS (
    SELECT node_no, size_from_s AS from_s,
        total(CASE WHEN plan = 'high' THEN gpu_hours + mem_hours + core_hours END) AS recoverable_hours,
        total(CASE WHEN plan = 'expected' THEN gpu_hours + mem_hours + core_hours - again_hours END) AS expected_hours
    FROM won_share WHERE plan IN ('high', 'expected') GROUP BY node_no, size_from_s
), down AS (
    SELECT n.cluster, n.node, n.from_s, total(d.down * (d.to_s - d.from_s)) / 3600 AS hours,
        total(d.reserved * (d.to_s - d.from_s)) / 3600 AS reserved_hours
    FROM down_span AS d
    JOIN node_span AS n ON n.cluster = d.cluster AND n.node = d.node AND d.from_s >= n.from_s AND d.from_s < n.to_s
    GROUP BY n.cluster, n.node, n.from_s
)
SELECT n.cluster, n.node, n.from_s, n.to_s, n.cores, n.mem_bytes, n.gpus, n.partitions, p.node_class, p.usd_per_hour,
    (n.to_s - n.from_s) / 3600 AS installed_hours, coalesce(held.hours, 0) AS held_hours,
    coalesce(won.recoverable_hours, 0) AS recoverable_hours, coalesce(won.expected_hours, 0) AS expected_hours,
    CASE WHEN (SELECT are_known FROM node_states_seen) THEN coalesce(down.hours, 0) END AS down_hours,
    CASE WHEN (SELECT are_known FROM node_states_seen) THEN coalesce(down.reserved_hours, 0) END AS reserved_hours
FROM node_span AS n
JOIN class_price AS p ON p.gres = n.gres AND p.cores = n.cores AND p.mem_bytes = n.mem_bytes
LEFT JOIN held ON held.cluster = n.cluster AND held.node = n.node AND held.from_s = n.from_s
LEFT JOIN won ON won.node_no = n.node_no AND won.from_s = n.from_s
LEFT JOIN down ON down.cluster = n.cluster AND down.node = n.node AND down.from_s = n.from_s
