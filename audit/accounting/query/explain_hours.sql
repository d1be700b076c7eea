-- explain_hours: the hours of the window that are one hour of the week at the site ($weekday, $hour), over all nodes.
SELECT s.day, s.hour_of_day AS hour, count(DISTINCT (h.cluster, h.node)) AS nodes,
    sum(CASE $measure WHEN 'installed_usd' THEN h.installed_usd WHEN 'held_usd' THEN h.held_usd
        ELSE h.recoverable_usd END) AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM hourly AS h JOIN site_hour AS s USING (hour)
WHERE s.weekday = $weekday AND s.hour_of_day = $hour GROUP BY s.day, s.hour_of_day
