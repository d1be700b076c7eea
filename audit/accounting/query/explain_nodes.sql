-- explain_nodes: the nodes of the slice, or those of one row of a list of the report ($by, $name, of a class at $price),
-- with the hours of $measure and what they come to in $unit.
WITH sized AS (
    SELECT cluster, node, node_class,
        CASE $measure WHEN 'installed' THEN installed_hours WHEN 'down' THEN down_hours
            WHEN 'capacity' THEN installed_hours - down_hours WHEN 'idle' THEN installed_hours - down_hours - held_hours
            WHEN 'idle_reserved' THEN reserved_hours WHEN 'held' THEN held_hours
            WHEN 'recoverable' THEN recoverable_hours WHEN 'expected' THEN expected_hours ELSE installed_hours END AS hours,
        CASE $unit WHEN 'usd' THEN usd_per_hour WHEN 'core' THEN cores WHEN 'gpu' THEN gpus
            WHEN 'mem_gib' THEN mem_bytes / 1073741824 ELSE 1 END AS worth
    FROM node_hours
    WHERE CASE $by WHEN 'by_partition' THEN nullif(partitions, '') IS NOT DISTINCT FROM $name
        WHEN 'recoverable.by_class' THEN node_class = $name AND abs(usd_per_hour / $price - 1) < 1e-9
        ELSE true END
)
SELECT * FROM (
    SELECT node, min(node_class) AS node_class, sum(hours) AS hours,
        CASE WHEN $measure = 'nodes' THEN 1 ELSE sum(hours * worth) END AS amount, CAST(NULL AS DOUBLE) AS of_amount
    FROM sized GROUP BY cluster, node
) AS by_node
WHERE abs(amount) > 1e-9
