-- explain_days: the days of the window as it was observed, as they are at the site, and what was recoverable on each.
SELECT s.day, coalesce(sum(p.recoverable_usd), 0) AS recoverable_usd,
    CASE WHEN $measure = 'days' THEN 1 ELSE coalesce(sum(p.recoverable_usd), 0) END AS amount,
    CAST(NULL AS DOUBLE) AS of_amount
FROM site_hour AS s LEFT JOIN partition_hour AS p USING (hour) GROUP BY s.day
