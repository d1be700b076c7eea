-- node_size: the sizes that nodes of the slice have, and how many nodes have each. Nodes of one size are one class
-- with one price, so the fewest hardware threads told of any of them count; NULL where no inventory tells them.
SELECT gres, cores, min(vcpus) AS vcpus, mem_bytes, count(DISTINCT (cluster, node)) AS nodes
FROM node_span GROUP BY gres, cores, mem_bytes ORDER BY gres, cores, mem_bytes
