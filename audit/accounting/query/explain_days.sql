-- explain_days: the days of the window as it was observed, as they are at the site, and what was recoverable on each: with
-- hindsight, and by advice given before, less reruns.
SELECT day, recoverable_usd, expected_usd, CASE $measure WHEN 'days' THEN 1 WHEN 'expected_usd' THEN expected_usd
        ELSE recoverable_usd END AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM recoverable_day
