-- by_class: what each node class offered and what could be sold again of it, in hours of the whole node.
SELECT node_class, usd_per_hour, count(DISTINCT (cluster, node)) AS nodes, total(installed_hours) AS installed_hours,
    total(held_hours) AS held_hours, total(recoverable_hours) AS recoverable_hours,
    total(recoverable_hours * gpus) AS recoverable_gpu_hours, total(recoverable_hours * cores) AS recoverable_core_hours,
    total(expected_hours) AS expected_hours, total(expected_hours * gpus) AS expected_gpu_hours,
    total(expected_hours * cores) AS expected_core_hours, total(expected_hours * usd_per_hour) AS expected_usd,
    total(recoverable_hours * usd_per_hour) AS recoverable_usd
FROM node_hours GROUP BY node_class, usd_per_hour ORDER BY recoverable_usd DESC, node_class
