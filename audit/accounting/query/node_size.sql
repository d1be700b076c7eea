-- node_size: the sizes that nodes of the slice have, and how many nodes have each.
SELECT gres, cores, mem_bytes, count(DISTINCT (cluster, node)) AS nodes
FROM node_span GROUP BY gres, cores, mem_bytes ORDER BY gres, cores, mem_bytes
