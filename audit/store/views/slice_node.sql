-- slice_node: the nodes that count: those audit.toml names, those of its partitions, else every node known
-- from an inventory, audit.toml or an allocation.
CREATE OR REPLACE TEMP VIEW slice_node AS
WITH named AS (
    SELECT cluster, node FROM asked_node
    UNION
    SELECT n.cluster, n.node FROM node AS n, asked_partition AS p
    WHERE list_contains(string_split(n.partitions, ','), p.partition)
    UNION
    SELECT s.cluster, h.node
    FROM (SELECT DISTINCT cluster, partition, node_list FROM span) AS s
    JOIN asked_partition AS p ON p.partition = s.partition
    JOIN host_list AS h ON h.node_list = s.node_list
    WHERE NOT EXISTS (SELECT 1 FROM node)
), known AS (
    SELECT cluster, node FROM node
    UNION
    SELECT s.cluster, h.node FROM (SELECT DISTINCT cluster, node_list FROM span) AS s
    JOIN host_list AS h ON h.node_list = s.node_list
)
SELECT DISTINCT cluster, node FROM named
UNION ALL
SELECT cluster, node FROM known
WHERE NOT EXISTS (SELECT 1 FROM asked_node) AND NOT EXISTS (SELECT 1 FROM asked_partition);
