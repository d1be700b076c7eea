-- unbundled_partition_hour: recoverable dollars of each partition in each hour where node sizes are unknown: what its attempts
-- gave up of each resource x its rate.
WITH rate AS (
    SELECT s.partition, s.from_s, s.to_s, (coalesce(s.gpus - s.kept_gpus, 0) * coalesce(g.usd_per_gpu_hour, 0)
        + coalesce(s.mem_bytes - s.kept_mem_bytes, 0) / 1073741824 * r.usd_per_mem_gib_hour
        + coalesce(s.cores - s.kept_cores, 0) * r.usd_per_core_hour) / 3600 AS usd_per_s
    FROM recommended_shape AS s CROSS JOIN unbundled_rate AS r LEFT JOIN gres_rate AS g ON g.gres = coalesce(s.gres, '')
), change AS (
    SELECT partition, CAST(hour AS BIGINT) AS hour, sum(usd_per_s) AS usd_per_s, sum(usd_per_s * (at_s - hour * 3600)) AS before_usd
    FROM (
        SELECT partition, floor(from_s / 3600) AS hour, from_s AS at_s, usd_per_s FROM rate WHERE usd_per_s > 0
        UNION ALL
        SELECT partition, ceil(to_s / 3600) - 1, to_s, -usd_per_s FROM rate WHERE usd_per_s > 0
    ) AS edge GROUP BY partition, hour
), reach AS (
    SELECT partition, unnest(range(min(hour), max(hour) + 1)) AS hour FROM change GROUP BY partition
)
SELECT r.partition, r.hour,
    coalesce(sum(c.usd_per_s) OVER earlier, 0) * 3600 + coalesce(c.usd_per_s * 3600 - c.before_usd, 0)
        AS recoverable_usd
FROM reach AS r
LEFT JOIN change AS c ON c.partition IS NOT DISTINCT FROM r.partition AND c.hour = r.hour
WINDOW earlier AS (PARTITION BY r.partition ORDER BY r.hour ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
