-- slice_size: the slice's nodes and what they offer at the end of the window, as far as it is known.
WITH latest AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, node ORDER BY to_s DESC) AS nth FROM node_span
)
SELECT (SELECT count(*) FROM slice_node) AS nodes, count(*) AS sized_nodes, sum(cores) AS cores, sum(gpus) AS gpus,
    sum(mem_bytes) / 1073741824 AS mem_gib
FROM latest WHERE nth = 1
