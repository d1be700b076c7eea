-- freed_by_resource: what could be sold again, in hours of the whole node and of its GPUs, by the binding resource.
SELECT CASE b.resource WHEN 'gpu' THEN 'gpus' WHEN 'mem' THEN 'memory' ELSE 'cores' END AS resource,
    total((b.held - b.needed) * b.span_s / 3600) AS node_hours, total((b.held - b.needed) * b.span_s / 3600 * n.gpus) AS gpu_hours
FROM binding AS b
JOIN node_span AS n ON n.cluster = b.cluster AND n.node = b.node AND b.at_s >= n.from_s AND b.at_s < n.to_s
WHERE b.held > b.needed GROUP BY 1 ORDER BY 1
