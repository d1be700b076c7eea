-- per_hour: by plan, dollars of each partition in each hour (epoch seconds / 3600) of a relation of spans, named by its
-- argument, that each cost usd_per_s from from_s to to_s. The rate changes only where a span starts or ends, so running sums do.
WITH change AS (
    SELECT plan, partition, CAST(hour AS BIGINT) AS hour, sum(usd_per_s) AS usd_per_s, sum(usd_per_s * (at_s - hour * 3600)) AS before_usd
    FROM (
        SELECT plan, partition, floor(from_s / 3600) AS hour, from_s AS at_s, usd_per_s
        FROM query_table(spans) WHERE to_s > from_s AND usd_per_s > 0
        UNION ALL
        SELECT plan, partition, ceil(to_s / 3600) - 1, to_s, -usd_per_s
        FROM query_table(spans) WHERE to_s > from_s AND usd_per_s > 0
    ) AS edge GROUP BY plan, partition, hour
), reach AS (
    SELECT plan, partition, unnest(range(min(hour), max(hour) + 1)) AS hour FROM change GROUP BY plan, partition
)
SELECT r.plan, r.partition, r.hour,
    coalesce(sum(c.usd_per_s) OVER earlier, 0) * 3600 + coalesce(c.usd_per_s * 3600 - c.before_usd, 0) AS usd
FROM reach AS r
LEFT JOIN change AS c
    ON c.plan IS NOT DISTINCT FROM r.plan AND c.partition IS NOT DISTINCT FROM r.partition AND c.hour = r.hour
WINDOW earlier AS (PARTITION BY r.plan, r.partition ORDER BY r.hour ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
