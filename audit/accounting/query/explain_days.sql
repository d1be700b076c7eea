-- explain_days: the days (UTC) of the observed window and what was recoverable on each.
WITH day AS (
    SELECT DISTINCT unnest(range(CAST(floor(from_s / 86400) AS BIGINT), CAST(ceil(to_s / 86400) AS BIGINT))) AS day
    FROM observed
), daily AS (
    SELECT CAST(floor(hour / 24) AS BIGINT) AS day, sum(recoverable_usd) AS usd FROM partition_hour GROUP BY 1
)
SELECT TIMESTAMP '1970-01-01' + to_days(CAST(d.day AS INTEGER)) AS day, coalesce(r.usd, 0) AS recoverable_usd,
    CASE WHEN $measure = 'days' THEN 1 ELSE coalesce(r.usd, 0) END AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM day AS d LEFT JOIN daily AS r USING (day)
