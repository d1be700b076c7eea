-- recoverable_day: recoverable dollars of each day of the window as it was observed, days as they are at the site:
-- judged with hindsight, and by advice given before (expected), less what reruns cost on the day their span begins.
WITH won AS (
    SELECT s.day, total(CASE WHEN p.plan = 'high' THEN p.recoverable_usd END) AS usd,
        total(CASE WHEN p.plan = 'expected' THEN p.recoverable_usd END) AS expected_usd
    FROM partition_hour AS p JOIN site_hour AS s USING (hour) GROUP BY s.day
), again AS (
    SELECT s.day, total(r.usd) AS usd FROM rerun AS r JOIN site_hour AS s ON s.hour = floor(r.from_s / 3600)
    WHERE r.plan = 'expected' GROUP BY s.day
)
SELECT d.day, coalesce(won.usd, 0) AS recoverable_usd, coalesce(won.expected_usd, 0) - coalesce(again.usd, 0) AS expected_usd
FROM (SELECT DISTINCT day FROM site_hour) AS d LEFT JOIN won USING (day) LEFT JOIN again USING (day)
