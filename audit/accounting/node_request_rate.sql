-- node_request_rate: what one hour of a request would cost: its largest share of what the nodes of its partition offer, of
-- GPUs, memory or cores, x their price together (all nodes of the slice where none is known to be the partition's); an
-- array counts each of its tasks. What a request does not state costs nothing.
WITH placed AS (
    SELECT n.cores, n.mem_bytes, n.gpus, n.usd_per_hour, unnest(string_split(n.partitions, ',')) AS partition
    FROM node_hours AS n
), offer AS (
    SELECT partition, sum(cores) AS cores, sum(mem_bytes) AS mem_bytes, sum(gpus) AS gpus, sum(usd_per_hour) AS usd_per_hour
    FROM placed GROUP BY partition
), whole AS (
    SELECT sum(cores) AS cores, sum(mem_bytes) AS mem_bytes, sum(gpus) AS gpus, sum(usd_per_hour) AS usd_per_hour FROM node_hours
)
SELECT j.cluster, j.job_id_raw, j.submit, split_part(j.partition, ',', 1) AS partition,
    coalesce(j.array_tasks, 1) * coalesce(o.usd_per_hour, w.usd_per_hour) * least(1, greatest(
        coalesce(j.req_gpus / nullif(coalesce(o.gpus, w.gpus), 0), 0),
        coalesce(j.req_mem_bytes / nullif(coalesce(o.mem_bytes, w.mem_bytes), 0), 0),
        coalesce(j.req_cores / nullif(coalesce(o.cores, w.cores), 0), 0))) AS usd_per_hour
FROM job AS j CROSS JOIN whole AS w
LEFT JOIN offer AS o ON o.partition = split_part(j.partition, ',', 1)
