-- by_hour: dollars of each hour of the window (epoch seconds / 3600), over all nodes.
SELECT hour, sum(installed_usd) AS installed_usd, sum(held_usd) AS held_usd, sum(recoverable_usd) AS recoverable_usd
FROM hourly GROUP BY hour ORDER BY hour
