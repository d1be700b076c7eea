-- unbundled_cost: the cost of an attempt where node sizes are unknown: hours held of each resource x its own
-- rate. In US dollars for the window, by resource.
SELECT h.cluster, h.job_id_raw, h.submit,
    sum(coalesce(h.gpus, 0) * (h.to_s - h.from_s) / 3600 * coalesce(g.usd_per_gpu_hour, 0)) AS gpu_usd,
    sum(coalesce(h.mem_bytes, 0) / 1073741824 * (h.to_s - h.from_s) / 3600 * r.usd_per_mem_gib_hour) AS mem_usd,
    sum(coalesce(h.cores, 0) * (h.to_s - h.from_s) / 3600 * r.usd_per_core_hour) AS core_usd
FROM held_allocation AS h
CROSS JOIN unbundled_rate AS r
LEFT JOIN gres_rate AS g ON g.gres = coalesce(h.gres, '')
GROUP BY h.cluster, h.job_id_raw, h.submit
