-- node_request_rate: what one hour of a request would cost: its largest share of what the nodes it could run on offer, of
-- GPUs, memory or cores, x their price together. These are the nodes of its partition (all of the slice where none is
-- known to be the partition's), those with GPUs if it asks for any. An array counts each of its tasks. What a request
-- does not state costs nothing.
WITH latest AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, node ORDER BY to_s DESC) AS nth FROM node_hours
), placed AS (
    SELECT cores, mem_bytes, gpus, usd_per_hour, unnest(string_split(partitions, ',')) AS partition FROM latest WHERE nth = 1
    UNION ALL
    SELECT cores, mem_bytes, gpus, usd_per_hour, NULL FROM latest WHERE nth = 1
), offer AS (
    SELECT partition, false AS on_gpus, total(cores) AS cores, total(mem_bytes) AS mem_bytes, total(gpus) AS gpus,
        total(usd_per_hour) AS usd_per_hour
    FROM placed GROUP BY partition
    UNION ALL
    SELECT partition, true, total(cores), total(mem_bytes), total(gpus), total(usd_per_hour)
    FROM placed WHERE gpus > 0 GROUP BY partition
), asked AS (
    SELECT cluster, job_id_raw, submit, split_part(partition, ',', 1) AS partition, coalesce(array_tasks, 1) AS tasks,
        coalesce(req_gpus, 0) AS gpus, coalesce(req_mem_bytes, 0) AS mem_bytes, coalesce(req_cores, 0) AS cores,
        coalesce(req_gpus, 0) > 0 AS on_gpus
    FROM job
)
SELECT a.cluster, a.job_id_raw, a.submit, a.partition, a.tasks * coalesce(o.usd_per_hour, w.usd_per_hour, 0) * least(1, greatest(
    coalesce(a.gpus / nullif(coalesce(o.gpus, w.gpus), 0), 0), coalesce(a.mem_bytes / coalesce(o.mem_bytes, w.mem_bytes), 0),
    coalesce(a.cores / coalesce(o.cores, w.cores), 0))) AS usd_per_hour
FROM asked AS a
LEFT JOIN offer AS o ON o.partition = a.partition AND o.on_gpus = a.on_gpus
LEFT JOIN offer AS w ON w.partition IS NULL AND w.on_gpus = a.on_gpus
