-- node_partition_hour: by plan, recoverable dollars of each partition in each hour: what its attempts gave up of the binding
-- resource, weighed with the part of that which could be sold again. The rate at which they give up changes only where
-- one starts or ends; between, the running integrals tell.
WITH edge AS (
    SELECT plan, node_no, partition, from_s AS at_s, floor(from_s / 3600) AS hour, usd_per_hour / 3600 * gpu AS gpu,
        usd_per_hour / 3600 * mem AS mem, usd_per_hour / 3600 * core AS core
    FROM cut WHERE plan IN ('high', 'expected') AND (gpu > 0 OR mem > 0 OR core > 0)
    UNION ALL
    SELECT plan, node_no, partition, to_s, ceil(to_s / 3600) - 1, -usd_per_hour / 3600 * gpu, -usd_per_hour / 3600 * mem,
        -usd_per_hour / 3600 * core
    FROM cut WHERE plan IN ('high', 'expected') AND (gpu > 0 OR mem > 0 OR core > 0)
), change AS (
    SELECT e.plan, e.node_no, e.partition, CAST(e.hour AS BIGINT) AS hour, sum(e.gpu) AS gpu, sum(e.mem) AS mem,
        sum(e.core) AS core, sum(e.gpu * n.gpu_win_s + e.mem * n.mem_win_s + e.core * n.core_win_s) AS before_usd
    FROM edge AS e JOIN needed AS n USING (plan, node_no, at_s)
    GROUP BY ALL
), on_node AS (
    SELECT plan, node_no, partition, min(hour) AS first_hour, max(hour) AS last_hour FROM change GROUP BY ALL
), bounded AS (
    SELECT plan, node_no, hour, min(gpu_from_s) AS gpu_a, min(mem_from_s) AS mem_a, min(core_from_s) AS core_a,
        max(gpu_to_s) AS gpu_z, max(mem_to_s) AS mem_z, max(core_to_s) AS core_z
    FROM hourly_won GROUP BY ALL
), level AS (
    SELECT o.partition, h.*, coalesce(c.gpu, 0) AS gpu, coalesce(c.mem, 0) AS mem, coalesce(c.core, 0) AS core,
        coalesce(c.before_usd, 0) AS before_usd, coalesce(sum(c.gpu) OVER earlier, 0) AS gpu_was,
        coalesce(sum(c.mem) OVER earlier, 0) AS mem_was, coalesce(sum(c.core) OVER earlier, 0) AS core_was
    FROM on_node AS o
    JOIN bounded AS h ON h.plan = o.plan AND h.node_no = o.node_no AND h.hour BETWEEN o.first_hour AND o.last_hour
    LEFT JOIN change AS c
        ON c.plan = o.plan AND c.node_no = o.node_no AND c.partition IS NOT DISTINCT FROM o.partition AND c.hour = h.hour
    WINDOW earlier AS (PARTITION BY o.plan, o.node_no, o.partition ORDER BY h.hour ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT plan, partition, hour, total(gpu_was * (gpu_z - gpu_a) + mem_was * (mem_z - mem_a) + core_was * (core_z - core_a)
    + gpu * gpu_z + mem * mem_z + core * core_z - before_usd) AS recoverable_usd
FROM level GROUP BY plan, partition, hour
