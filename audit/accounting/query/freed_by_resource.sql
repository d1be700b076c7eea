-- freed_by_resource: what could be sold again, in hours of the whole node and of its GPUs, by the binding resource: judged
-- with hindsight, and by advice given before (expected).
SELECT CASE e.resource WHEN 'gpu' THEN 'gpus' WHEN 'mem' THEN 'memory' ELSE 'cores' END AS resource,
    total(CASE WHEN e.plan = 'high' THEN e.free * e.span_s / 3600 END) AS node_hours,
    total(CASE WHEN e.plan = 'high' THEN e.free * e.span_s / 3600 * n.gpus END) AS gpu_hours,
    total(CASE WHEN e.plan = 'expected' THEN e.free * e.span_s / 3600 END) AS expected_node_hours,
    total(CASE WHEN e.plan = 'expected' THEN e.free * e.span_s / 3600 * n.gpus END) AS expected_gpu_hours
FROM needed AS e
JOIN node_span AS n ON n.node_no = e.node_no AND e.at_s >= n.from_s AND e.at_s < n.to_s
WHERE e.free > 0 AND e.plan IN ('high', 'expected') GROUP BY 1 ORDER BY 1
