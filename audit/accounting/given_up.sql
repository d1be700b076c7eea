-- given_up: by plan, what an attempt would have given up of each resource x its rate, where node sizes are unknown, in
-- dollars a second from when to when (epoch seconds); of a killed one nothing, but again_usd_per_s, the shape that runs
-- once more.
WITH rated AS (
    SELECT k.plan, k.by_memory, k.by_gpus, k.is_slowed, s.cluster, s.job_id_raw, s.submit, s.partition, s.from_s, s.to_s,
        CASE WHEN k.by_memory OR k.by_gpus THEN 1 ELSE 0 END AS killed, coalesce(g.usd_per_gpu_hour, 0) / 3600 AS gpu_rate,
        r.usd_per_mem_gib_hour / 1073741824 / 3600 AS mem_rate, r.usd_per_core_hour / 3600 AS core_rate,
        coalesce(s.gpus, 0) AS gpus, coalesce(s.mem_bytes, 0) AS mem_bytes, coalesce(s.cores, 0) AS cores,
        coalesce(k.kept_gpus, 0) AS kept_gpus, coalesce(k.kept_mem_bytes, 0) AS kept_mem_bytes, coalesce(k.kept_cores, 0) AS kept_cores
    FROM kept_shape AS k JOIN recommended_shape AS s USING (held_no)
    CROSS JOIN unbundled_rate AS r LEFT JOIN gres_rate AS g ON g.gres = coalesce(s.gres, '')
), parted AS (
    SELECT *, (gpus - kept_gpus) * gpu_rate * (1 - killed) AS gpu, (mem_bytes - kept_mem_bytes) * mem_rate * (1 - killed) AS mem,
        (cores - kept_cores) * core_rate * (1 - killed) AS core,
        (kept_gpus * gpu_rate + kept_mem_bytes * mem_rate + kept_cores * core_rate) * killed AS again_usd_per_s
    FROM rated
)
SELECT plan, cluster, job_id_raw, submit, partition, from_s, to_s, by_memory, by_gpus, is_slowed, gpu, mem, core,
    gpu + mem + core AS usd_per_s, again_usd_per_s
FROM parted
