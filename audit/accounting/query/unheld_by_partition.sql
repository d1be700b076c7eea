-- unheld_by_partition: nodes, and dollars idle, reserved and down of them; a node in several partitions stands in a row
-- named after them all. Without node states idle and down are NULL: they cannot be told apart.
SELECT nullif(partitions, '') AS partition, count(DISTINCT (cluster, node)) AS nodes,
    total(installed_hours * usd_per_hour) AS installed_usd,
    total((installed_hours - held_hours - down_hours) * usd_per_hour) AS idle_usd,
    total(reserved_hours * usd_per_hour) AS idle_reserved_usd, total(down_hours * usd_per_hour) AS down_usd
FROM node_hours GROUP BY ALL ORDER BY installed_usd DESC, partition
