-- sreport_down: hours down of cores, GPUs and memory as this report has them in the spans that `sreport` tells of.
SELECT total(d.down * n.cores * s) / 3600 AS core, total(d.down * n.gpus * s) / 3600 AS gpu,
    total(d.down * n.mem_bytes / 1073741824 * s) / 3600 AS mem
FROM (
    SELECT d.*, least(d.to_s, c.to_s) - greatest(d.from_s, c.from_s) AS s
    FROM down_span AS d JOIN sreport_span AS c ON d.from_s < c.to_s AND d.to_s > c.from_s
) AS d
JOIN node_span AS n ON n.cluster = d.cluster AND n.node = d.node AND d.from_s >= n.from_s AND d.from_s < n.to_s
