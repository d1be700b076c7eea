-- by_hour_of_week: dollars of each weekday (1: Monday) and hour of the day at the site, over all nodes.
SELECT s.weekday, s.hour_of_day AS hour, total(h.installed_usd) AS installed_usd, total(h.held_usd) AS held_usd,
    coalesce(total(w.recoverable_usd), 0) AS recoverable_usd
FROM hourly AS h JOIN site_hour AS s USING (hour)
LEFT JOIN hourly_won AS w ON w.plan = 'high' AND w.node_no = h.node_no AND w.at_s = h.at_s
GROUP BY s.weekday, s.hour_of_day ORDER BY s.weekday, s.hour_of_day
