-- by_hour_of_week: dollars of each weekday (1: Monday) and hour of the day at the site, over all nodes.
SELECT s.weekday, s.hour_of_day AS hour, total(h.installed_usd) AS installed_usd, total(h.held_usd) AS held_usd,
    total(h.recoverable_usd) AS recoverable_usd
FROM hourly AS h JOIN site_hour AS s USING (hour)
GROUP BY s.weekday, s.hour_of_day ORDER BY s.weekday, s.hour_of_day
