-- explain_hours: the hours of the window that are one hour of the week at the site ($weekday, $hour), over all nodes.
SELECT s.day, s.hour_of_day AS hour, count(DISTINCT (h.cluster, h.node)) AS nodes,
    sum(CASE $measure WHEN 'installed_usd' THEN h.installed_usd WHEN 'held_usd' THEN h.held_usd
        ELSE coalesce(w.recoverable_usd, 0) END) AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM hourly AS h JOIN site_hour AS s USING (hour)
LEFT JOIN hourly_won AS w ON w.plan = 'high' AND w.node_no = h.node_no AND w.at_s = h.at_s
WHERE s.weekday = $weekday AND s.hour_of_day = $hour GROUP BY s.day, s.hour_of_day
