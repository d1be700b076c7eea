-- node_cost: what an attempt cost on one node = node price x the integral of its share of the binding resource: it
-- reads the running integrals at its start and its end. In US dollars for the window, by the resource through which
-- it was charged; beside it the part of them that was used (NULL: not measured), and recoverable: in proportion to what
-- it gave up of the binding resource.
SELECT s.cluster, s.job_id_raw, s.submit, s.node,
    sum(s.usd_per_hour / 3600 * s.gpu_share * (z.gpu_s - a.gpu_s)) AS gpu_usd,
    sum(s.usd_per_hour / 3600 * s.mem_share * (z.mem_s - a.mem_s)) AS mem_usd,
    sum(s.usd_per_hour / 3600 * s.core_share * (z.core_s - a.core_s)) AS core_usd,
    sum(s.usd_per_hour / 3600 * s.gpu_used * (z.gpu_s - a.gpu_s)) AS gpu_used_usd,
    sum(s.usd_per_hour / 3600 * s.mem_used * (z.mem_s - a.mem_s)) AS mem_used_usd,
    sum(s.usd_per_hour / 3600 * s.core_used * (z.core_s - a.core_s)) AS core_used_usd,
    sum(s.usd_per_hour / 3600 * (s.gpu_share - s.gpu_kept) * (z.gpu_win_s - a.gpu_win_s)) AS gpu_recoverable_usd,
    sum(s.usd_per_hour / 3600 * (s.mem_share - s.mem_kept) * (z.mem_win_s - a.mem_win_s)) AS mem_recoverable_usd,
    sum(s.usd_per_hour / 3600 * (s.core_share - s.core_kept) * (z.core_win_s - a.core_win_s)) AS core_recoverable_usd
FROM share AS s
JOIN running AS a ON a.cluster = s.cluster AND a.node = s.node AND a.at_s = s.from_s
JOIN running AS z ON z.cluster = s.cluster AND z.node = s.node AND z.at_s = s.to_s
GROUP BY s.cluster, s.job_id_raw, s.submit, s.node
