-- node_partition_hour: recoverable dollars of each partition in each hour: what its attempts gave up of the binding
-- resource, weighed with the part of that which could be sold again. The rate at which they give up changes only where
-- one starts or ends; between, the running integrals tell.
WITH edge AS (
    SELECT cluster, node, partition, from_s AS at_s, floor(from_s / 3600) AS hour, usd_per_hour / 3600 * (gpu_share - gpu_kept) AS gpu,
        usd_per_hour / 3600 * (mem_share - mem_kept) AS mem, usd_per_hour / 3600 * (core_share - core_kept) AS core
    FROM share WHERE gpu_share > gpu_kept OR mem_share > mem_kept OR core_share > core_kept
    UNION ALL
    SELECT cluster, node, partition, to_s, ceil(to_s / 3600) - 1, -usd_per_hour / 3600 * (gpu_share - gpu_kept),
        -usd_per_hour / 3600 * (mem_share - mem_kept), -usd_per_hour / 3600 * (core_share - core_kept)
    FROM share WHERE gpu_share > gpu_kept OR mem_share > mem_kept OR core_share > core_kept
), change AS (
    SELECT e.cluster, e.node, e.partition, CAST(e.hour AS BIGINT) AS hour, sum(e.gpu) AS gpu, sum(e.mem) AS mem,
        sum(e.core) AS core, sum(e.gpu * r.gpu_win_s + e.mem * r.mem_win_s + e.core * r.core_win_s) AS before_usd
    FROM edge AS e JOIN running AS r USING (cluster, node, at_s)
    GROUP BY ALL
), on_node AS (
    SELECT cluster, node, partition, min(hour) AS first_hour, max(hour) AS last_hour FROM change GROUP BY ALL
), bounded AS (
    SELECT cluster, node, hour, min(gpu_from_s) AS gpu_a, min(mem_from_s) AS mem_a, min(core_from_s) AS core_a,
        max(gpu_to_s) AS gpu_z, max(mem_to_s) AS mem_z, max(core_to_s) AS core_z
    FROM hourly GROUP BY ALL
), level AS (
    SELECT o.partition, h.*, coalesce(c.gpu, 0) AS gpu, coalesce(c.mem, 0) AS mem, coalesce(c.core, 0) AS core,
        coalesce(c.before_usd, 0) AS before_usd, coalesce(sum(c.gpu) OVER earlier, 0) AS gpu_was,
        coalesce(sum(c.mem) OVER earlier, 0) AS mem_was, coalesce(sum(c.core) OVER earlier, 0) AS core_was
    FROM on_node AS o
    JOIN bounded AS h ON h.cluster = o.cluster AND h.node = o.node AND h.hour BETWEEN o.first_hour AND o.last_hour
    LEFT JOIN change AS c ON c.cluster = o.cluster AND c.node = o.node AND c.partition IS NOT DISTINCT FROM o.partition AND c.hour = h.hour
    WINDOW earlier AS (PARTITION BY o.cluster, o.node, o.partition ORDER BY h.hour ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT partition, hour, total(gpu_was * (gpu_z - gpu_a) + mem_was * (mem_z - mem_a) + core_was * (core_z - core_a)
    + gpu * gpu_z + mem * mem_z + core * core_z - before_usd) AS recoverable_usd
FROM level GROUP BY partition, hour
