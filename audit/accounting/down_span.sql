-- down_span: for each node of known size, each stretch (epoch seconds) in which its state stays and what is
-- held of it stays; down is the part that could be given to nobody: 1 - held while the node is down, drained or
-- draining; reserved the part set aside: 1 - held while it is reserved and not down. What a job holds is neither.
WITH stated AS (
    SELECT n.cluster, n.node, CASE WHEN d.is_down THEN 1 ELSE 0 END AS down,
        CASE WHEN d.state LIKE '%RESERVED%' THEN 1 ELSE 0 END AS reserved,
        greatest(epoch(d.from_time), n.from_s) AS from_s, least(coalesce(epoch(d.to_time), n.to_s), n.to_s) AS to_s
    FROM node_state AS d
    JOIN node_span AS n ON n.cluster = d.cluster AND n.node = d.node
        AND epoch(d.from_time) < n.to_s AND coalesce(epoch(d.to_time), n.to_s) > n.from_s
    WHERE d.is_down OR d.state LIKE '%RESERVED%'
), edge AS (
    SELECT cluster, node, from_s AS at_s, down, reserved, NULL AS held FROM stated
    UNION ALL
    SELECT cluster, node, to_s, -down, -reserved, NULL FROM stated
    UNION ALL
    SELECT cluster, node, at_s, 0, 0, held FROM binding
), net AS (
    SELECT cluster, node, at_s, sum(down) AS down, sum(reserved) AS reserved, max(held) AS held
    FROM edge GROUP BY cluster, node, at_s
), level AS (
    SELECT cluster, node, at_s AS from_s, lead(at_s) OVER each_node AS to_s, sum(down) OVER up_to AS down_states,
        sum(reserved) OVER up_to AS reserved_states, coalesce(last_value(held IGNORE NULLS) OVER up_to, 0) AS held
    FROM net
    WINDOW each_node AS (PARTITION BY cluster, node ORDER BY at_s),
        up_to AS (PARTITION BY cluster, node ORDER BY at_s ROWS UNBOUNDED PRECEDING)
)
SELECT cluster, node, from_s, to_s, CASE WHEN down_states > 0 THEN 1 - held ELSE 0 END AS down,
    CASE WHEN down_states = 0 THEN 1 - held ELSE 0 END AS reserved
FROM level WHERE to_s > from_s AND (down_states > 0 OR reserved_states > 0) AND held < 1
