-- hourly: each node in each hour of the window (hour = epoch seconds / 3600; the part of it that was observed and in
-- which its size stayed): dollars installed, held and recoverable, and the running integrals of what could be sold
-- again at its start and its end.
WITH part AS (
    SELECT cluster, node, hour, usd_per_hour, greatest(from_s, hour * 3600) AS from_s, least(to_s, (hour + 1) * 3600) AS to_s
    FROM (
        SELECT n.*, p.usd_per_hour, unnest(range(CAST(floor(from_s / 3600) AS BIGINT), CAST(ceil(to_s / 3600) AS BIGINT))) AS hour
        FROM node_span AS n
        JOIN class_price AS p ON p.gres = n.gres AND p.cores = n.cores AND p.mem_bytes = n.mem_bytes
    ) AS split
), mark AS (
    SELECT cluster, node, from_s AS at_s FROM part UNION SELECT cluster, node, to_s FROM part
), placed AS (
    SELECT cluster, node, at_s, edge_s IS NULL AS is_mark,
        last_value(edge_s IGNORE NULLS) OVER (PARTITION BY cluster, node ORDER BY at_s, edge_s NULLS LAST
            ROWS UNBOUNDED PRECEDING) AS edge_s
    FROM (SELECT cluster, node, at_s, at_s AS edge_s FROM running UNION ALL SELECT cluster, node, at_s, NULL FROM mark) AS both_kinds
), point AS (
    SELECT p.cluster, p.node, p.at_s,
        coalesce(r.held_usd + r.held * r.usd_per_hour / 3600 * (p.at_s - p.edge_s), 0) AS held_usd,
        coalesce(r.recoverable_usd + (r.held - r.needed) * r.usd_per_hour / 3600 * (p.at_s - p.edge_s), 0) AS recoverable_usd,
        coalesce(r.gpu_win_s + CASE WHEN r.resource = 'gpu' THEN r.win * (p.at_s - p.edge_s) ELSE 0 END, 0) AS gpu_win_s,
        coalesce(r.mem_win_s + CASE WHEN r.resource = 'mem' THEN r.win * (p.at_s - p.edge_s) ELSE 0 END, 0) AS mem_win_s,
        coalesce(r.core_win_s + CASE WHEN r.resource = 'core' THEN r.win * (p.at_s - p.edge_s) ELSE 0 END, 0) AS core_win_s
    FROM placed AS p LEFT JOIN running AS r ON r.cluster = p.cluster AND r.node = p.node AND r.at_s = p.edge_s
    WHERE p.is_mark
), step AS (
    SELECT cluster, node, at_s, lead(held_usd) OVER next - held_usd AS held_usd,
        lead(recoverable_usd) OVER next - recoverable_usd AS recoverable_usd, gpu_win_s AS gpu_from_s, mem_win_s AS mem_from_s,
        core_win_s AS core_from_s, lead(gpu_win_s) OVER next AS gpu_to_s, lead(mem_win_s) OVER next AS mem_to_s,
        lead(core_win_s) OVER next AS core_to_s
    FROM point WINDOW next AS (PARTITION BY cluster, node ORDER BY at_s)
)
SELECT p.hour, s.*, (p.to_s - p.from_s) / 3600 * p.usd_per_hour AS installed_usd
FROM part AS p JOIN step AS s ON s.cluster = p.cluster AND s.node = p.node AND s.at_s = p.from_s
