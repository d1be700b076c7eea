-- node_span: the size of each node of the slice over the observed window (epoch seconds). Nodes whose cores
-- or memory nobody states have no row: what they offer is unknown. node_no is a number for each node.
SELECT n.cluster, n.node, dense_rank() OVER (ORDER BY n.cluster, n.node) AS node_no,
    greatest(o.from_s, coalesce(epoch(n.from_time), o.from_s)) AS from_s,
    least(o.to_s, coalesce(epoch(n.to_time), o.to_s)) AS to_s,
    n.cores, n.vcpus, n.mem_bytes, coalesce(n.gpus, 0) AS gpus, coalesce(n.shards, 0) AS shards,
    coalesce(n.gres, '') AS gres, coalesce(n.partitions, '') AS partitions
FROM node AS n
JOIN slice_node USING (cluster, node)
JOIN observed AS o
    ON coalesce(epoch(n.from_time), o.from_s) < o.to_s AND coalesce(epoch(n.to_time), o.to_s) > o.from_s
WHERE n.cores > 0 AND n.mem_bytes > 0
