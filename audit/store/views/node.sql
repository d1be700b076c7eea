-- node: one node's size over a span, as Slurm can allocate it. The first inventory holds backwards, each
-- until the next that differs; what audit.toml states of a node wins over every inventory. Hardware threads
-- (vcpus) are the whole node's; fewer than the cores that audit.toml states are not believed.
CREATE OR REPLACE TEMP VIEW node AS
WITH snapshot AS (
    SELECT DISTINCT ON (cluster, node, seen) *
    FROM node_record ORDER BY cluster, node, seen, cores DESC, mem_bytes DESC, gres, partitions, vcpus DESC NULLS LAST
), known AS (
    SELECT coalesce(o.cluster, s.cluster) AS cluster, coalesce(o.node, s.node) AS node, s.seen,
        coalesce(o.cores, s.cores) AS cores,
        CASE WHEN s.vcpus >= coalesce(o.cores, 0) THEN s.vcpus END AS vcpus,
        coalesce(o.mem_bytes, s.mem_bytes) AS mem_bytes,
        coalesce(o.gpus, s.gpus) AS gpus,
        CASE WHEN o.gpus IS NULL THEN s.gres ELSE 'gpu:' || coalesce(o.gpu_type, 'gpu') || '=' || o.gpus END AS gres,
        coalesce(o.gpu_type, s.gpu_type) AS gpu_type, s.shards, s.threads_per_core, s.partitions
    FROM snapshot AS s FULL JOIN node_override AS o ON o.cluster = s.cluster AND o.node = s.node
), changed AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, node ORDER BY seen) AS nth
    FROM known
    QUALIFY (cores, vcpus, mem_bytes, gres, partitions) IS DISTINCT FROM
        lag((cores, vcpus, mem_bytes, gres, partitions)) OVER (PARTITION BY cluster, node ORDER BY seen)
)
SELECT cluster, node,
    CASE WHEN nth > 1 THEN seen END AS from_time,
    lead(seen) OVER (PARTITION BY cluster, node ORDER BY seen) AS to_time,
    cores, vcpus, mem_bytes, gpus, gres, gpu_type, shards, threads_per_core, partitions
FROM changed;
