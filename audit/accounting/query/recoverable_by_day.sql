-- recoverable_by_day: recoverable dollars of each day of the window as it was observed, days as they are at the site.
SELECT s.day, coalesce(total(p.recoverable_usd), 0) AS recoverable_usd
FROM site_hour AS s LEFT JOIN partition_hour AS p USING (hour)
GROUP BY s.day ORDER BY s.day
