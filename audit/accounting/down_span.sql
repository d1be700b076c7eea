-- down_span: for each node of known size, each stretch (epoch seconds) in which its state stays and what is
-- held of it stays; down is the part that could be given to nobody: 1 - held while the node is down,
-- drained or draining. What a job holds is never down.
WITH edge AS (
    SELECT n.cluster, n.node, greatest(epoch(d.from_time), n.from_s) AS at_s, 1 AS step, NULL AS held
    FROM node_state AS d
    JOIN node_span AS n ON n.cluster = d.cluster AND n.node = d.node
        AND epoch(d.from_time) < n.to_s AND coalesce(epoch(d.to_time), n.to_s) > n.from_s
    WHERE d.is_down
    UNION ALL
    SELECT n.cluster, n.node, least(coalesce(epoch(d.to_time), n.to_s), n.to_s), -1, NULL
    FROM node_state AS d
    JOIN node_span AS n ON n.cluster = d.cluster AND n.node = d.node
        AND epoch(d.from_time) < n.to_s AND coalesce(epoch(d.to_time), n.to_s) > n.from_s
    WHERE d.is_down
    UNION ALL
    SELECT cluster, node, at_s, 0, held FROM binding
), net AS (
    SELECT cluster, node, at_s, sum(step) AS step, max(held) AS held FROM edge GROUP BY cluster, node, at_s
), level AS (
    SELECT cluster, node, at_s AS from_s, lead(at_s) OVER each_node AS to_s, sum(step) OVER up_to AS down_states,
        coalesce(last_value(held IGNORE NULLS) OVER up_to, 0) AS held
    FROM net
    WINDOW each_node AS (PARTITION BY cluster, node ORDER BY at_s),
        up_to AS (PARTITION BY cluster, node ORDER BY at_s ROWS UNBOUNDED PRECEDING)
)
SELECT cluster, node, from_s, to_s, 1 - held AS down FROM level
WHERE to_s > from_s AND down_states > 0 AND held < 1
