-- hourly: each node in each hour of the window (hour = epoch seconds / 3600; the part of it that was observed and in
-- which its size stayed): dollars installed and held; for its start and its end, the last time before it at which an
-- allocation starts or ends (first_at_s, last_at_s; NULL: none) and the seconds since.
WITH part AS (
    SELECT cluster, node, node_no, hour, usd_per_hour, greatest(from_s, hour * 3600) AS from_s, least(to_s, (hour + 1) * 3600) AS to_s
    FROM (
        SELECT n.*, p.usd_per_hour, unnest(range(CAST(floor(from_s / 3600) AS BIGINT), CAST(ceil(to_s / 3600) AS BIGINT))) AS hour
        FROM node_span AS n
        JOIN class_price AS p ON p.gres = n.gres AND p.cores = n.cores AND p.mem_bytes = n.mem_bytes
    ) AS split
), mark AS (
    SELECT node_no, from_s AS at_s FROM part UNION SELECT node_no, to_s FROM part
), placed AS (
    SELECT node_no, at_s, edge_s IS NULL AS is_mark,
        last_value(edge_s IGNORE NULLS) OVER (PARTITION BY node_no ORDER BY at_s, edge_s NULLS LAST
            ROWS UNBOUNDED PRECEDING) AS edge_s
    FROM (SELECT node_no, at_s, at_s AS edge_s FROM running UNION ALL SELECT node_no, at_s, NULL FROM mark) AS both_kinds
), point AS (
    SELECT p.node_no, p.at_s, p.edge_s,
        coalesce(r.held_usd + r.held * r.usd_per_hour / 3600 * (p.at_s - p.edge_s), 0) AS held_usd
    FROM placed AS p LEFT JOIN running AS r ON r.node_no = p.node_no AND r.at_s = p.edge_s
    WHERE p.is_mark
), step AS (
    SELECT node_no, at_s, lead(held_usd) OVER next - held_usd AS held_usd, edge_s AS first_at_s, at_s - edge_s AS first_since_s,
        lead(edge_s) OVER next AS last_at_s, lead(at_s - edge_s) OVER next AS last_since_s
    FROM point WINDOW next AS (PARTITION BY node_no ORDER BY at_s)
)
SELECT p.cluster, p.node, p.hour, s.*, (p.to_s - p.from_s) / 3600 * p.usd_per_hour AS installed_usd
FROM part AS p JOIN step AS s ON s.node_no = p.node_no AND s.at_s = p.from_s
