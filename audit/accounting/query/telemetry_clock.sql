-- telemetry_clock: how many clock steps collectors saw on nodes of the slice in the window, and on how many of these.
SELECT count(*) AS steps, count(DISTINCT e.node) AS nodes
FROM collector_event AS e JOIN slice_node USING (cluster, node) CROSS JOIN window_bounds AS w
WHERE e.kind = 'clock' AND e.at_time >= w.from_time AND e.at_time < w.to_time
