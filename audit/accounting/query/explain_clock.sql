-- explain_clock: the nodes of the slice on which collectors saw the clock stepped in the window.
SELECT e.node, min(e.at_time) AS first, max(e.at_time) AS last,
    CASE $measure WHEN 'nodes' THEN 1 ELSE count(*) END AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM collector_event AS e JOIN slice_node USING (cluster, node) CROSS JOIN window_bounds AS w
WHERE e.kind = 'clock' AND e.at_time >= w.from_time AND e.at_time < w.to_time
GROUP BY e.cluster, e.node
