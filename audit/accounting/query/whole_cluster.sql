-- whole_cluster: whether the slice holds every node that an inventory or an allocation names.
SELECT count(*) = 0 AS is_whole
FROM (SELECT cluster, node FROM node UNION SELECT s.cluster, h.node FROM span AS s JOIN host_list AS h USING (node_list)) AS known
WHERE NOT EXISTS (SELECT 1 FROM slice_node AS m WHERE m.cluster = known.cluster AND m.node = known.node)
