-- explain_slice: the nodes of the slice and what each offers of $measure at the end of the window, as far as it is known.
WITH latest AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, node ORDER BY to_s DESC) AS nth FROM node_span
)
SELECT s.node, n.gres, nullif(n.partitions, '') AS partitions,
    CASE $measure WHEN 'nodes' THEN 1 WHEN 'cores' THEN n.cores WHEN 'gpus' THEN n.gpus
        WHEN 'mem_gib' THEN n.mem_bytes / 1073741824 END AS amount, CAST(NULL AS DOUBLE) AS of_amount
FROM slice_node AS s LEFT JOIN latest AS n ON n.cluster = s.cluster AND n.node = s.node AND n.nth = 1
