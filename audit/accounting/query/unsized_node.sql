-- unsized_node: nodes of the slice that were held at a time when their size, or the GPUs they offer, are not
-- known, and nodes that audit.toml asks for whose size nobody states.
WITH fits AS (
    SELECT h.cluster, h.node, h.from_s, h.to_s, h.job_id_raw, h.submit,
        sum(CASE WHEN n.node IS NOT NULL THEN least(h.to_s, n.to_s) - greatest(h.from_s, n.from_s) END) AS sized_s,
        max(CASE WHEN h.gpus > 0 AND n.gpus = 0 THEN 1 ELSE 0 END) AS lacks_gpus
    FROM held_allocation AS h
    LEFT JOIN node_span AS n ON n.cluster = h.cluster AND n.node = h.node AND h.from_s < n.to_s AND h.to_s > n.from_s
    WHERE h.node IS NOT NULL
    GROUP BY h.cluster, h.node, h.from_s, h.to_s, h.job_id_raw, h.submit
)
SELECT DISTINCT node FROM fits WHERE coalesce(sized_s, 0) < (to_s - from_s) * 0.999999 OR lacks_gpus = 1
UNION
SELECT s.node FROM slice_node AS s LEFT JOIN node_span AS n USING (cluster, node)
WHERE n.node IS NULL AND NOT (SELECT is_whole_cluster FROM slice_scope)
ORDER BY node
