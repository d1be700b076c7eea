-- hourly_won: by plan, each node in each part of an hour as in hourly: dollars of it that could be sold again, and the
-- running integrals of win at its start and its end.
WITH point AS (
    SELECT n.plan, n.node_no, n.at_s, n.free_usd, n.free * n.usd_per_hour / 3600 AS free_usd_per_s, n.gpu_win_s, n.mem_win_s,
        n.core_win_s, CASE WHEN n.resource = 'gpu' THEN n.win ELSE 0 END AS gpu_win,
        CASE WHEN n.resource = 'mem' THEN n.win ELSE 0 END AS mem_win, CASE WHEN n.resource = 'core' THEN n.win ELSE 0 END AS core_win
    FROM needed AS n WHERE n.plan IN ('high', 'expected')
)
SELECT z.plan, h.node_no, h.at_s, h.hour,
    z.free_usd + z.free_usd_per_s * h.last_since_s - coalesce(a.free_usd + a.free_usd_per_s * h.first_since_s, 0) AS recoverable_usd,
    coalesce(a.gpu_win_s + a.gpu_win * h.first_since_s, 0) AS gpu_from_s,
    coalesce(a.mem_win_s + a.mem_win * h.first_since_s, 0) AS mem_from_s,
    coalesce(a.core_win_s + a.core_win * h.first_since_s, 0) AS core_from_s,
    z.gpu_win_s + z.gpu_win * h.last_since_s AS gpu_to_s, z.mem_win_s + z.mem_win * h.last_since_s AS mem_to_s,
    z.core_win_s + z.core_win * h.last_since_s AS core_to_s
FROM hourly AS h
JOIN point AS z ON z.node_no = h.node_no AND z.at_s = h.last_at_s
LEFT JOIN point AS a ON a.plan = z.plan AND a.node_no = h.node_no AND a.at_s = h.first_at_s
