-- unbundled_cost: the cost of an attempt where node sizes are unknown: hours held of each resource x its own
-- rate; used likewise, since without sizes nothing tells which resource binds. In US dollars for the
-- window, by resource, on each node that is named.
SELECT s.cluster, s.job_id_raw, s.submit, s.node,
    sum(coalesce(s.gpus, 0) * hours * g.usd) AS gpu_usd,
    sum(coalesce(s.mem_bytes, 0) / 1073741824 * hours * r.usd_per_mem_gib_hour) AS mem_usd,
    sum(coalesce(s.cores, 0) * hours * r.usd_per_core_hour) AS core_usd,
    sum(s.used_gpus * hours * g.usd) AS gpu_used_usd,
    sum(s.used_mem_bytes / 1073741824 * hours * r.usd_per_mem_gib_hour) AS mem_used_usd,
    sum(s.used_cores * hours * r.usd_per_core_hour) AS core_used_usd
FROM recommended_shape AS s
CROSS JOIN unbundled_rate AS r
LEFT JOIN gres_rate AS q ON q.gres = coalesce(s.gres, '')
CROSS JOIN LATERAL (SELECT (s.to_s - s.from_s) / 3600 AS hours, coalesce(q.usd_per_gpu_hour, 0) AS usd) AS g
GROUP BY s.cluster, s.job_id_raw, s.submit, s.node
