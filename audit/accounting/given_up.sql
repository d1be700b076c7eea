-- given_up: what attempts gave up of each resource x its rate, where node sizes are unknown, in dollars a second from
-- when to when (epoch seconds).
SELECT s.partition, s.from_s, s.to_s, (coalesce(s.gpus - s.kept_gpus, 0) * coalesce(g.usd_per_gpu_hour, 0)
    + coalesce(s.mem_bytes - s.kept_mem_bytes, 0) / 1073741824 * r.usd_per_mem_gib_hour
    + coalesce(s.cores - s.kept_cores, 0) * r.usd_per_core_hour) / 3600 AS usd_per_s
FROM recommended_shape AS s CROSS JOIN unbundled_rate AS r LEFT JOIN gres_rate AS g ON g.gres = coalesce(s.gres, '')
